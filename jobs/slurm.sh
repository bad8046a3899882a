#!/usr/bin/env bash
# A study on SLURM without a driver. From the folder that has .venv:
#   sbatch jobs/slurm.sh experiment=xu/scenario_2                one node, all its cores
#   sbatch --array=1-20 jobs/slurm.sh experiment=xu/scenario_2   20 shards of the units, one shared store
#   sbatch --dependency=afterany:ARRAY jobs/slurm.sh experiment=xu/scenario_2   what is left, seal, report
# `pipeline task=submit cluster=slurm shards=20 …` does the last two. Submitting again goes on where it stopped.

#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
# ---- edit here -----------------------------------------------------------------------------------------------
#SBATCH --job-name=pipeline
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=04:00:00
# SBATCH --partition=NAME  (without the blank, when it is needed; the same for --account=NAME)
PIPELINE=${PIPELINE:-.venv/bin/pipeline}
# --------------------------------------------------------------------------------------------------------------

if [[ -n ${AFTER:-} ]]; then  # the last job of `pipeline task=submit`: who cancels the array wants no job to do its work
    states=$({ scontrol show job -o "$AFTER" || sacct -X -n -j "$AFTER" -o State; } 2>/dev/null)
    [[ $states == *CANCELLED* ]] && echo "error: array $AFTER was cancelled; submit again to go on" >&2 && exit 75
fi
words=("$@" "cluster.workers=${SLURM_CPUS_PER_TASK:-1}")
each=${SLURM_MEM_PER_CPU:-$((${SLURM_MEM_PER_NODE:-0} / ${SLURM_CPUS_PER_TASK:-1}))}
# The rest is for the process that gives the workers their units.
[[ -z ${WORKER_MEMORY:-} && $each -ge 512 ]] && WORKER_MEMORY=$((each * 3 / 4))MiB
[[ -n ${WORKER_MEMORY:-} ]] && words+=("cluster.memory=$WORKER_MEMORY")  # one unit too large ends no job
job=$SLURM_JOB_ID
if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then
    job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID  # the plain number may mean the whole array
    words+=("shard=$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}")
fi

# USR1: the walltime is near, so finish what runs and queue again. TERM: somebody wants it to stop.
trap 'again=yes; kill -TERM $pid 2>/dev/null' USR1
trap 'stop=yes; kill -TERM $pid 2>/dev/null' TERM
"$PIPELINE" "${words[@]}" &
pid=$!
[[ -n ${again:-} ]] && kill -TERM $pid 2>/dev/null  # the signal came before the command had begun
while wait $pid; kill -0 $pid 2>/dev/null; do :; done  # a signal ends `wait`, not the pipeline
wait $pid  # which has ended now, perhaps in between: its own exit code
code=$?

# 75: more to do; 143: ended by the signal before it could handle it. What was cancelled is not queued again.
if [[ $code == 75 || $code == 143 ]] && [[ -n ${again:-} && -z ${stop:-} ]]; then
    scontrol requeue "$job" && sleep 60
fi
exit $code
