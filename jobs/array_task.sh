#!/bin/sh
# One shard of a study, in a container, for services whose array jobs count from 0: AWS Batch, and Jobs of Kubernetes with
# `completionMode: Indexed`. The numbers go to a bucket, nothing else is shared:
#   SHARDS=20 pipeline-array-task experiment=xu/scenario_2 store.url=s3://bucket/studies
# Exit code 75 means that there is more to do: let the service try again on it. When all have ended, the same `pipeline`
# without shard= seals, judges and reports, anywhere.
index=${AWS_BATCH_JOB_ARRAY_INDEX:-${JOB_COMPLETION_INDEX:-}}
shards=${SHARDS:-${AWS_BATCH_JOB_ARRAY_SIZE:-}}
if [ -z "$index" ] || [ -z "$shards" ]; then
    echo "error: an array job sets AWS_BATCH_JOB_ARRAY_INDEX or JOB_COMPLETION_INDEX; give SHARDS=N, its size" >&2
    exit 2
fi
exec "${PIPELINE:-pipeline}" "outputs=${TMPDIR:-/tmp}/outputs" "$@" "shard=$((index + 1))/$shards"
