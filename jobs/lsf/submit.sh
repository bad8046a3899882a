#!/usr/bin/env bash
# Submit a study to LSF as a job array, and a last job that finishes, seals and reports:
#   jobs/lsf/submit.sh 20 experiment=xu/scenario_2      (no blanks inside a word)
# What a job may use is said in jobs/lsf/study.sh.
set -euo pipefail
export SHARDS=$1
shift
export WORDS="$*"
here=$(dirname "$0")
array=$(bsub -J "pipeline[1-$SHARDS]" < "$here/study.sh" | grep -o '[0-9]\+' | head -n 1)
last=$(bsub -w "ended($array)" < "$here/study.sh" | grep -o '[0-9]\+' | head -n 1)
echo "array $array of $SHARDS shards, then job $last"
