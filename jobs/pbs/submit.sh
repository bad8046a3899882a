#!/usr/bin/env bash
# Submit a study to PBS as a job array, and a last job that finishes, seals and reports, or submits all again:
#   jobs/pbs/submit.sh 20 experiment=xu/scenario_2      (at least 2 shards; no blanks inside a word)
# What a job may use is said in jobs/pbs/study.sh.
set -euo pipefail
export SHARDS=$1
shift
export WORDS="$*"
here=$(dirname "$0")
array=$(qsub -J "1-$SHARDS" "$here/study.sh")
last=$(qsub -W "depend=afterany:$array" "$here/study.sh")
echo "array $array of $SHARDS shards, then job $last"
