"""Status of a replication: the values of `status` in a dataset."""

NOT_RUN, OK, NOT_CONVERGED, FAILED = 0, 1, 2, 3
