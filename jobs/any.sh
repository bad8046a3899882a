#!/usr/bin/env bash
# A study on a batch system that has no script of its own here; `pipeline task=submit` submits it in shards.
# What it may use comes with the command that submits it, and these variables:
#   WORDS, AGAIN       words of the run; words that submit all of it again
#   CORES, SECONDS_TO_RUN, WORKER_MEMORY
#   SHARDS             tasks of the array
#   TASK_VARIABLE      name of the variable by which the system numbers them, from 1
#   FOLDER             where the command was typed
#   PIPELINE, MORE     the command; a file that is sourced if it is there, as for the keys of a bucket (mode 0600)

if [[ -r $MORE ]]; then
    if [[ ! -O $MORE || ! -O ${MORE%/*} || $(find -H "$MORE" "${MORE%/*}" -prune \( -perm -020 -o -perm -002 \); echo $?) != 0 ]]; then
        echo "error: $MORE: must be yours, and neither it nor its folder writable by others (chmod go-w)" >&2
        exit 1
    fi
    . "$MORE"
fi
cd "$FOLDER" || exit 1
read -ra words <<< "$WORDS"
words+=("cluster.workers=$CORES" "stop_after=$SECONDS_TO_RUN")
words+=("cluster.memory=$WORKER_MEMORY")  # one unit too large ends no job
task=${TASK_VARIABLE:+${!TASK_VARIABLE}}
if [[ $task =~ ^[1-9][0-9]*$ ]]; then
    exec "$PIPELINE" "${words[@]}" "shard=$task/$SHARDS"
fi
"$PIPELINE" "${words[@]}"
code=$?
# 75: more to do, as when shards ran out of time. Submit all of it again.
if [[ $code == 75 && -n ${AGAIN:-} ]]; then
    read -ra again <<< "$AGAIN"
    "$PIPELINE" "${again[@]}"
fi
exit $code
