#!/usr/bin/env bash
# A study on LSF without a driver; `pipeline task=submit cluster=lsf` submits it in shards.
# Never executed on a real one, only compared with its manual. From the folder that has .venv, on one node:
#   WORDS="experiment=xu/scenario_2" bsub < jobs/lsf.sh
# Submitting again goes on where it stopped.

#BSUB -wa TERM -wt 2
#BSUB -Q "75"
#BSUB -r
#BSUB -o pipeline-%J-%I.out
# ---- edit here -----------------------------------------------------------------------------------------------
#BSUB -J pipeline
#BSUB -n 4
#BSUB -R "span[hosts=1]"
#BSUB -W 04:00
# BSUB -q NAME  (without the blank, when it is needed; the same for -P NAME)
PIPELINE=${PIPELINE:-.venv/bin/pipeline}
MORE=${MORE:-$HOME/.pipeline/environment}  # sourced if it is there: exports, such as the keys of a bucket, which
                                           # everybody would see if they came with the job (mode 0600)
# --------------------------------------------------------------------------------------------------------------

# TERM comes two minutes before the walltime; 75, more to do, makes LSF queue the job again.
if [[ -r $MORE ]]; then
    if [[ ! -O $MORE || ! -O ${MORE%/*} || $(find -H "$MORE" "${MORE%/*}" -prune \( -perm -020 -o -perm -002 \); echo $?) != 0 ]]; then
        echo "error: $MORE: must be yours, and neither it nor its folder writable by others (chmod go-w)" >&2
        exit 1
    fi
    . "$MORE"
fi
read -ra words <<< "$WORDS"
words+=("cluster.workers=${LSB_DJOB_NUMPROC:-1}")
[[ -n ${WORKER_MEMORY:-} ]] && words+=("cluster.memory=$WORKER_MEMORY")  # one unit too large ends no job
if [[ ${LSB_JOBINDEX:-0} != 0 ]]; then
    words+=("shard=$LSB_JOBINDEX/${SHARDS:-$LSB_JOBINDEX_END}")
fi
exec "$PIPELINE" "${words[@]}"
