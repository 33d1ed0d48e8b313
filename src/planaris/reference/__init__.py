"""Slow, correct by inspection: what the solvers are tested against.

``brute_force``
    All states, up to 24 spins, fields and all.
``brute_force_mrf``
    The same for Markov random fields.
``transfer_matrix``
    Strips with fields, up to 24 columns.
``kaufman``
    Closed forms of the square-lattice ferromagnet.
``dense``
    Completely pivoted Pfaffians on any rotation system of low genus.
``ball``
    Proven enclosures in ball arithmetic; needs python-flint.
"""

from planaris.reference.brute_force import enumerate_states
from planaris.reference.brute_force_mrf import enumerate_assignments
from planaris.reference.kaufman import kaufman_log_partition, onsager_log_partition
from planaris.reference.transfer_matrix import solve_strip

__all__ = [
    "enumerate_assignments",
    "enumerate_states",
    "kaufman_log_partition",
    "onsager_log_partition",
    "solve_strip",
]
