"""The four verbs, and what several calls of them give together.

The one place that chooses a method and composes parts.
"""

from planaris.infer.domain_wall import DomainWall, domain_wall
from planaris.infer.ground_state import ground_state
from planaris.infer.log_partition import log_partition
from planaris.infer.marginals import marginals
from planaris.infer.sample import sample
from planaris.infer.thermodynamics import ground_state_entropy, thermodynamics

__all__ = [
    "DomainWall",
    "domain_wall",
    "ground_state",
    "ground_state_entropy",
    "log_partition",
    "marginals",
    "sample",
    "thermodynamics",
]
