#!/bin/sh
# Installs this checkout into a folder, for images: sh jobs/image.sh /opt/pipeline
# As `make setup` does, with all versions and hashes of constraints.txt, and with what buckets need; but as a copy, not as
# a link to the checkout, and without what is needed to install only. Any user can run what is in the folder.
set -eu
target=$1

python3 -m venv "$target"
sed -n '/^uv==/,/[^\\]$/p' constraints.txt > "$target/uv.txt"
"$target/bin/python" -m pip install --quiet --require-hashes --requirement "$target/uv.txt"
export VIRTUAL_ENV="$target"
tools="$target/bin/uv pip"
compiler=$(command -v cc > /dev/null || echo "--extra compiler")
# shellcheck disable=SC2086  # two words each
$tools install --quiet --compile-bytecode --require-hashes --constraint constraints.txt \
    --requirement pyproject.toml --extra s3 --extra installer $compiler
find pipeline -name 'lib*.so' -delete  # kernels of another machine
# shellcheck disable=SC2086
$tools install --quiet --compile-bytecode --no-deps --no-build-isolation .
install -m 755 jobs/array_task.sh "$target/bin/pipeline-array-task"
# shellcheck disable=SC2086
$tools uninstall --quiet ziglang hatchling editables
"$target/bin/python" -m pip uninstall --quiet --yes uv
rm "$target/uv.txt"
