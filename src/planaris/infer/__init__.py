"""The four verbs, and what several calls of them give together.

The one place that chooses a method and composes parts.
"""

from planaris.infer.domain_wall import DomainWall, domain_wall
from planaris.infer.residual_entropy import ground_state_entropy
from planaris.infer.rigidity import RigidEdges, rigid_edges
from planaris.infer.thermodynamics import thermodynamics
from planaris.infer.verbs import ground_state, log_partition, marginals, sample
from planaris.methods import methods

__all__ = [
    "DomainWall",
    "RigidEdges",
    "domain_wall",
    "ground_state",
    "ground_state_entropy",
    "log_partition",
    "marginals",
    "rigid_edges",
    "sample",
    "thermodynamics",
]

methods()  # all solvers are loaded with the verbs: no call spends its time limit on that
