#!/usr/bin/env bash
# One study on one node of any batch system: all cores of the allocation, stopped in time, resumed by submitting
# the same job again. Submit it with your system's command and directives, such as
#   sbatch --cpus-per-task=16 --time=4:00:00 jobs/single_node.sh experiment=xu/phase_transition
# Exit code 75 means that there is more to do: submit again, or let your system requeue on it.
set -euo pipefail

# ---- edit here -----------------------------------------------------------------------------------------------
PIPELINE=${PIPELINE:-.venv/bin/pipeline}   # the installed command
WALLTIME=${WALLTIME:-14400}                # seconds that the batch system grants
RESERVE=${RESERVE:-300}                    # seconds kept for finishing units, sealing and the report
WORKER_MEMORY=${WORKER_MEMORY:-}           # of each worker, such as 2GiB: a unit that needs more fails, and no job ends
# --------------------------------------------------------------------------------------------------------------

words=("stop_after=$((WALLTIME - RESERVE))")
[[ -n $WORKER_MEMORY ]] && words+=("cluster.memory=$WORKER_MEMORY")
exec "$PIPELINE" "${words[@]}" "$@"
