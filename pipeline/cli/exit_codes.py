"""Exit codes of the command."""

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_MORE_TO_DO = 75  # 75: EX_TEMPFAIL, try again
