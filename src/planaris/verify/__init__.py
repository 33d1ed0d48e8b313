"""Checks results and certificates; shares no code with the solvers."""

from planaris.verify.claims import check_ground_state, check_log_partition
from planaris.verify.embedding import check_plane
from planaris.verify.findings import CheckReport, Finding
from planaris.verify.proofs.any_proof import check_proof
from planaris.verify.proofs.energy.ground_state import check_certificate
from planaris.verify.proofs.energy.tjoin import check_perfect_matching, check_tjoin
from planaris.verify.proofs.kuratowski import check_kuratowski
from planaris.verify.results import check_result

__all__ = [
    "CheckReport",
    "Finding",
    "check_certificate",
    "check_ground_state",
    "check_kuratowski",
    "check_log_partition",
    "check_perfect_matching",
    "check_plane",
    "check_proof",
    "check_result",
    "check_tjoin",
]
