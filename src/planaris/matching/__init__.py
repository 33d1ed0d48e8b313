"""Minimum-weight T-joins and perfect matchings of sparse graphs, exact and with proof."""

from planaris.matching.tjoins import (
    CutPacking,
    Joins,
    PerfectMatching,
    TJoin,
    TJoinSolver,
    min_weight_perfect_matching,
    minimum_tjoin,
)

__all__ = [
    "CutPacking",
    "Joins",
    "PerfectMatching",
    "TJoin",
    "TJoinSolver",
    "min_weight_perfect_matching",
    "minimum_tjoin",
]
