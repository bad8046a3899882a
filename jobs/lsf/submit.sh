#!/usr/bin/env bash
# Submit a study to LSF as a job array, and a last job that finishes, seals and reports:
#   jobs/lsf/submit.sh 20 experiment=xu/scenario_2      (no blanks inside a word)
# What a job may use is said in jobs/lsf/study.sh.
set -euo pipefail
if [[ ! ${1:-} =~ ^[1-9][0-9]*$ || $# -lt 2 ]]; then
    echo "error: give the number of shards and the words of a run: $0 20 experiment=xu/scenario_2" >&2
    exit 2
fi
if [[ "$*" =~ [[:space:]] && $(printf '%s\n' "$@" | wc -w) != $# ]]; then
    echo "error: no blanks inside a word, the queue would part it there" >&2
    exit 2
fi
if ! type bsub > /dev/null 2>&1; then
    echo "error: bsub is not on this machine; start this where jobs are submitted" >&2
    exit 2
fi
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN  # the queue shows what jobs inherit: see MORE
export SHARDS=$1
shift
export WORDS="$*"
here=$(dirname "$0")
array=$(bsub -J "pipeline[1-$SHARDS]" < "$here/study.sh" | grep -o '[0-9]\+' | head -n 1)
last=$(bsub -w "ended($array)" < "$here/study.sh" | grep -o '[0-9]\+' | head -n 1)
echo "array $array of $SHARDS shards, then job $last"
