"""planaris against itself and against slow oracles: what ``planaris selftest`` runs."""

from planaris.selftest.soak import check_model, soak_seed

__all__ = ["check_model", "soak_seed"]
