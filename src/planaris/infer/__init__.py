"""The four verbs: the one place that chooses a method and composes parts."""

from planaris.infer.ground_state import ground_state
from planaris.infer.log_partition import log_partition
from planaris.infer.marginals import marginals
from planaris.infer.sample import sample

__all__ = ["ground_state", "log_partition", "marginals", "sample"]
