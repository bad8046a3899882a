#!/usr/bin/env bash
# A study on Grid Engine without a driver. From the folder that has .venv:
#   qsub jobs/sge.sh experiment=xu/scenario_2                      one node
#   qsub -t 1-20 jobs/sge.sh experiment=xu/scenario_2              20 shards of the units, one shared store
#   qsub -hold_jid ARRAY jobs/sge.sh experiment=xu/scenario_2      what is left, seal, report
# `pipeline task=submit cluster=sge shards=20 …` does the last two. Submitting again goes on where it stopped.

#$ -S /bin/bash
#$ -cwd
#$ -V
#$ -j y
#$ -r y
# ---- edit here -----------------------------------------------------------------------------------------------
#$ -N pipeline
#$ -l s_rt=03:58:00,h_rt=04:00:00
# $ -pe smp 4  (without the blank, for several cores; qconf -spl names the environments; the same for -q, -P)
PIPELINE=${PIPELINE:-.venv/bin/pipeline}
MORE=${MORE:-$HOME/.pipeline/environment}  # sourced if it is there: exports, such as the keys of a bucket, which
                                           # everybody would see if they came with the job (mode 0600)
# --------------------------------------------------------------------------------------------------------------

if [[ -r $MORE ]]; then
    if [[ ! -O $MORE || ! -O ${MORE%/*} || $(find -H "$MORE" "${MORE%/*}" -prune \( -perm -020 -o -perm -002 \); echo $?) != 0 ]]; then
        echo "error: $MORE: must be yours, and neither it nor its folder writable by others (chmod go-w)" >&2
        exit 1
    fi
    . "$MORE"
fi
words=("$@" "cluster.workers=${NSLOTS:-1}")
[[ -n ${WORKER_MEMORY:-} ]] && words+=("cluster.memory=$WORKER_MEMORY")  # one unit too large ends no job
if [[ ${SGE_TASK_ID:-undefined} != undefined ]]; then
    words+=("shard=$SGE_TASK_ID/${SHARDS:-$SGE_TASK_LAST}")
fi

# USR1 comes at s_rt, to all processes of the job: finish what runs and queue again.
trap 'again=yes; kill -TERM $pid 2>/dev/null' USR1
(trap '' USR1; exec "$PIPELINE" "${words[@]}") &
pid=$!
[[ -n ${again:-} ]] && kill -TERM $pid 2>/dev/null  # the signal came before the command had begun
while wait $pid; kill -0 $pid 2>/dev/null; do :; done  # a signal ends `wait`, not the pipeline
wait $pid  # which has ended now, perhaps in between: its own exit code
code=$?

# 75: more to do; 143: ended by the signal before it could handle it. 99 makes Grid Engine queue the job again.
[[ $code == 75 || $code == 143 ]] && [[ -n ${again:-} ]] && exit 99
exit $code
