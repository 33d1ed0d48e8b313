"""The four verbs: the one place that chooses a method and composes parts."""

from planaris.infer.ground_state import ground_state

__all__ = ["ground_state"]
