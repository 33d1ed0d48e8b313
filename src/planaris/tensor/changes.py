"""By how much contractions with growing bonds still differ."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from planaris.kernels.tensor import Accuracy, Contraction, Program
from planaris.typing import FloatArray

NONE: FloatArray = np.zeros(0)


class Value(NamedTuple):
    """One contraction."""

    accuracy: Accuracy
    found: Contraction
    program: Program
    nodes: FloatArray = NONE
    edges: FloatArray = NONE


def change_of(values: list[Value]) -> float:
    """Return by how much log Z still changes from one contraction to the next.

    Two values that agree by chance are not trusted: a part of the change before counts, and all of
    it where the bond has not grown since.
    """
    logs = [value.found.log_partition for value in values[-3:]]
    changes = [0.0 if a == b else abs(b - a) for a, b in itertools.pairwise(logs)]
    change = max([*changes[-1:], *(x * _part(values) for x in changes[:-1])], default=0.0)
    return math.inf if math.isnan(change) else change


def _part(values: list[Value]) -> float:
    """Return the part of the change before that counts: smaller pivots leave less of it."""
    if is_stuck(values):
        return 1.0
    finer = values[-1].accuracy.tolerance < values[-2].accuracy.tolerance
    return 1 / 64 if finer else 1 / 16


def is_stuck(values: list[Value]) -> bool:
    """Return whether the last two contractions had the same bond, too small for either."""
    last = [(value.accuracy.max_rank, value.found.largest_bond) for value in values[-2:]]
    return len(last) == 2 and last[0] == last[1] and last[1][0] == last[1][1]


def moved(values: list[Value]) -> float:
    """Return the largest change of a probability between the last two contractions.

    Where the bond has not grown between them, the change before counts as well.
    """
    pairs = list(itertools.pairwise(values[-3 if is_stuck(values) else -2 :]))
    return max((_moved(before, last) for before, last in pairs), default=0.0)


def _moved(before: Value, last: Value) -> float:
    if math.isnan(before.found.log_partition) or len(before.nodes) < len(last.nodes):
        return math.inf
    changes = (np.abs(last.nodes - before.nodes), np.abs(last.edges - before.edges))
    return max(float(x.max(initial=0.0)) for x in changes)
