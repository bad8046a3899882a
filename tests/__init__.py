"""The tests, a package that mirrors the program's; what several modules share is in helpers/."""
