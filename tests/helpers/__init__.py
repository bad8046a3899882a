"""What several modules of tests share: studies, checks, parts of one's own, other implementations, servers."""
