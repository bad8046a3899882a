#!/usr/bin/env bash
# The command from a copy of the environment on the node's own disk: a start then asks the shared file system for one
# file instead of some thousands. Make the copy where jobs are submitted, anew after each change of the environment:
#   tar -cf ~/.pipeline/environment.tar -C .venv .
#   PIPELINE=$PWD/jobs/node_local.sh pipeline task=submit cluster=slurm …
# The environment must hold this program (pip install .), not only a link to a checkout (pip install -e, make setup).

ARCHIVE=${ARCHIVE:-$HOME/.pipeline/environment.tar}
stamp=$(stat -c %.Y-%s "$ARCHIVE") || exit 1
copy=${TMPDIR:-/tmp}/pipeline-$(id -u)-$stamp
if [[ ! -e $copy ]]; then  # the first job on this node; of two at once one is thrown away
    new=$(mktemp -d "$copy.XXXXXX") || exit 1
    tar -xf "$ARCHIVE" -C "$new" || { rm -rf "$new"; echo "error: $ARCHIVE: cannot be unpacked to $new" >&2; exit 1; }
    mv -T "$new" "$copy" 2> /dev/null || rm -rf "$new"
fi
if [[ ! -O $copy ]]; then
    echo "error: $copy: is another person's; set TMPDIR to a folder of your own" >&2
    exit 1
fi
exec "$copy/bin/python" -m pipeline "$@"
