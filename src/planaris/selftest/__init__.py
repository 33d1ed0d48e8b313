"""planaris against itself and against slow oracles: what ``planaris selftest`` runs."""
