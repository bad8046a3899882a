"""Exit codes of the command."""

EXIT_DONE, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_MORE_TO_DO = 0, 1, 2, 75  # 75: EX_TEMPFAIL, try again
