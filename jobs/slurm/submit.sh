#!/usr/bin/env bash
# Submit a study to SLURM as a job array, and a last job that finishes, seals and reports:
#   jobs/slurm/submit.sh 20 experiment=xu/scenario_2
# What a job may use is said in jobs/slurm/study.sh.
set -euo pipefail
if [[ ! ${1:-} =~ ^[1-9][0-9]*$ || $# -lt 2 ]]; then
    echo "error: give the number of shards and the words of a run: $0 20 experiment=xu/scenario_2" >&2
    exit 2
fi
if ! type sbatch > /dev/null 2>&1; then
    echo "error: sbatch is not on this machine; start this where jobs are submitted" >&2
    exit 2
fi
shards=$1
shift
here=$(dirname "$0")
array=$(sbatch --parsable --array="1-$shards" "$here/study.sh" "$@")
last=$(sbatch --parsable --dependency="afterany:$array" "$here/study.sh" "$@")
echo "array $array of $shards shards, then job $last"
