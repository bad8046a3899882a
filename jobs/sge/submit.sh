#!/usr/bin/env bash
# Submit a study to Grid Engine as a task array, and a last job that finishes, seals and reports:
#   jobs/sge/submit.sh 20 experiment=xu/scenario_2
# What a job may use is said in jobs/sge/study.sh.
set -euo pipefail
shards=$1
shift
here=$(dirname "$0")
array=$(qsub -terse -t "1-$shards" "$here/study.sh" "$@")
array=${array%%.*}
last=$(qsub -terse -hold_jid "$array" "$here/study.sh" "$@")
echo "array $array of $shards shards, then job $last"
