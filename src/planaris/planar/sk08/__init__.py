"""The method of Schraudolph and Kamenetsky (2008), as published.

Slow and plain: a second opinion on the solvers of :mod:`planaris.planar`, and the subject of the
ring experiment. Ground states by perfect matching of the expanded dual, log Z and marginals by
the Boolean half-Kasteleyn matrix and a dense factorisation.
"""

from planaris.planar.sk08.chords import octangulate, split_faces, triangulate
from planaris.planar.sk08.half_kasteleyn import HalfKasteleyn, half_kasteleyn
from planaris.planar.sk08.inference import log_partition, marginals
from planaris.planar.sk08.matching import expanded_dual, ground_state

__all__ = [
    "HalfKasteleyn",
    "expanded_dual",
    "ground_state",
    "half_kasteleyn",
    "log_partition",
    "marginals",
    "octangulate",
    "split_faces",
    "triangulate",
]
