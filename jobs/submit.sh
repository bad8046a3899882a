#!/usr/bin/env bash
# Submit a study as three jobs, one after the other: an array of shards that simulates; the same array again, which
# simulates what its shards did not end and reduces their parts of the results; and a last job that seals and reports (on
# PBS it also submits all of it again, if there is more to do). From the folder that has .venv:
#   jobs/submit.sh slurm 20 experiment=xu/scenario_2      (or pbs, lsf, sge)
# What a job may use stands in jobs/slurm.sh, pbs.sh, lsf.sh and sge.sh.
set -euo pipefail

fail() {
    echo "error: $1" >&2
    exit 2
}

system=${1:-} shards=${2:-}
case $system in
    slurm) command=sbatch ;;
    pbs | sge) command=qsub ;;
    lsf) command=bsub ;;
    *) fail "give the batch system first, slurm, pbs, lsf or sge: $0 slurm 20 experiment=xu/scenario_2" ;;
esac
[[ $shards =~ ^[1-9][0-9]*$ && $# -ge 3 ]] ||
    fail "give the number of shards and the words of a run: $0 $system 20 experiment=xu/scenario_2"
[[ $system != pbs || $shards != 1 ]] || fail "an array of PBS needs at least 2 shards"
type "$command" > /dev/null 2>&1 || fail "$command is not on this machine; start this where jobs are submitted"
shift 2
if [[ $system != slurm ]]; then  # the queue shows what jobs inherit: see MORE in the scripts
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
fi
if [[ $system == pbs || $system == lsf ]]; then  # their jobs take no words but in the environment
    [[ ! "$*" =~ [[:space:]] || $(printf '%s\n' "$@" | wc -w) == "$#" ]] ||
        fail "no blanks inside a word, the queue would split it there"
    export SHARDS=$shards WORDS="$*"
fi

job=$(dirname "$0")/$system.sh
case $system in
    slurm)
        array=$(sbatch --parsable --array="1-$shards" "$job" "$@")
        again=$(sbatch --parsable --array="1-$shards" --dependency="afterany:$array" "$job" "$@")
        last=$(sbatch --parsable --dependency="afterany:$again" "$job" "$@")
        ;;
    sge)
        array=$(qsub -terse -t "1-$shards" "$job" "$@")
        array=${array%%.*}
        again=$(qsub -terse -t "1-$shards" -hold_jid "$array" "$job" "$@")
        again=${again%%.*}
        last=$(qsub -terse -hold_jid "$again" "$job" "$@")
        ;;
    pbs)
        array=$(qsub -J "1-$shards" "$job")
        again=$(qsub -J "1-$shards" -W "depend=afterany:$array" "$job")
        last=$(qsub -W "depend=afterany:$again" "$job")
        ;;
    lsf)
        array=$(bsub -J "pipeline[1-$shards]" < "$job" | grep -o '[0-9]\+' | head -n 1)
        again=$(bsub -J "pipeline[1-$shards]" -w "ended($array)" < "$job" | grep -o '[0-9]\+' | head -n 1)
        last=$(bsub -w "ended($again)" < "$job" | grep -o '[0-9]\+' | head -n 1)
        ;;
esac
echo "array $array of $shards shards, then array $again, then job $last"
