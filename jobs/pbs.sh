#!/usr/bin/env bash
# A study on PBS Pro or OpenPBS without a driver; `pipeline task=submit cluster=pbs` submits it in shards.
# Never executed on a real one, only compared with its manual. From the folder that has .venv, on one node:
#   WORDS="experiment=xu/scenario_2" qsub jobs/pbs.sh
# Submitting again goes on where it stopped.

#PBS -j oe
#PBS -r y
#PBS -V
# ---- edit here -----------------------------------------------------------------------------------------------
#PBS -N pipeline
#PBS -l select=1:ncpus=4:mem=4gb
#PBS -l walltime=04:00:00
# PBS -q NAME  (without the blank, when it is needed; the same for -A NAME)
CORES=${CORES:-4}                          # as above
WORKER_MEMORY=${WORKER_MEMORY:-768MiB}     # three quarters of the memory above, for each core
SECONDS_TO_RUN=${SECONDS_TO_RUN:-14280}    # the walltime, less two minutes for finishing what runs
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
cd "$PBS_O_WORKDIR" || exit 1
read -ra words <<< "$WORDS"
limits=("cluster.workers=$CORES" "stop_after=$SECONDS_TO_RUN")
limits+=("cluster.memory=$WORKER_MEMORY")  # one unit too large ends no job
if [[ -n ${PBS_ARRAY_INDEX:-} ]]; then
    exec "$PIPELINE" "${words[@]}" "${limits[@]}" "shard=$PBS_ARRAY_INDEX/$SHARDS"
fi
"$PIPELINE" "${words[@]}" "${limits[@]}"
code=$?
# 75: more to do, as when shards ran out of time. A job may not requeue itself here: submit all of it again.
if [[ $code == 75 && -n ${AGAIN:-} ]]; then
    read -ra again <<< "$AGAIN"
    "$PIPELINE" "${again[@]}"
fi
exit $code
