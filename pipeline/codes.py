"""Numbers with a meaning: what became of a replication, and how the command ended."""

NOT_RUN, OK, NOT_CONVERGED, FAILED = 0, 1, 2, 3  # `status` of a replication
EXIT_DONE, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_MORE_TO_DO = 0, 1, 2, 75  # 75: EX_TEMPFAIL, try again
