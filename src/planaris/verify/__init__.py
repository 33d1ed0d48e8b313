"""Checks results and certificates; shares no code with the solvers."""

from planaris.verify.embedding import check_plane
from planaris.verify.findings import CheckReport, Finding
from planaris.verify.ground_state import check_certificate
from planaris.verify.kuratowski import check_kuratowski
from planaris.verify.results import check_result
from planaris.verify.state import check_ground_state, check_log_partition
from planaris.verify.tjoin import check_perfect_matching, check_tjoin

__all__ = [
    "CheckReport",
    "Finding",
    "check_certificate",
    "check_ground_state",
    "check_kuratowski",
    "check_log_partition",
    "check_perfect_matching",
    "check_plane",
    "check_result",
    "check_tjoin",
]
