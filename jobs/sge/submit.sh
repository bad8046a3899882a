#!/usr/bin/env bash
# Submit a study to Grid Engine as a task array, and a last job that finishes, seals and reports:
#   jobs/sge/submit.sh 20 experiment=xu/scenario_2
# What a job may use is said in jobs/sge/study.sh.
set -euo pipefail
if [[ ! ${1:-} =~ ^[1-9][0-9]*$ || $# -lt 2 ]]; then
    echo "error: give the number of shards and the words of a run: $0 20 experiment=xu/scenario_2" >&2
    exit 2
fi
if ! type qsub > /dev/null 2>&1; then
    echo "error: qsub is not on this machine; start this where jobs are submitted" >&2
    exit 2
fi
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN  # the queue shows what jobs inherit: see MORE
shards=$1
shift
here=$(dirname "$0")
array=$(qsub -terse -t "1-$shards" "$here/study.sh" "$@")
array=${array%%.*}
last=$(qsub -terse -hold_jid "$array" "$here/study.sh" "$@")
echo "array $array of $shards shards, then job $last"
