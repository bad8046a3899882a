"""Status of a replication: the values of `status` in a dataset."""

NOT_RUN = 0
OK = 1
NOT_CONVERGED = 2
FAILED = 3
