"""What the verbs return, the proofs that come with it, and the files that keep both."""

from planaris.result.answers import GroundState, LogPartition, Marginals, Stats
from planaris.result.files import load_result
from planaris.result.proofs import (
    AsIsing,
    Bounds,
    CutTree,
    Decomposition,
    Flow,
    HeavyState,
    LabelTree,
    MeanField,
    NotPlanar,
    PartProof,
    Plane,
    SemidefiniteTree,
    SplitProof,
    TJoinProof,
)

__all__ = [
    "AsIsing",
    "Bounds",
    "CutTree",
    "Decomposition",
    "Flow",
    "GroundState",
    "HeavyState",
    "LabelTree",
    "LogPartition",
    "Marginals",
    "MeanField",
    "NotPlanar",
    "PartProof",
    "Plane",
    "SemidefiniteTree",
    "SplitProof",
    "Stats",
    "TJoinProof",
    "load_result",
]
