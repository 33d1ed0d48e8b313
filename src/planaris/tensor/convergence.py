"""Accuracies that a model is contracted with in turn, and by how much contractions still differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from planaris.kernels.tensor import Accuracy, Contraction, Program
from planaris.typing import FloatArray

FIRST_BOND = 16
"""Largest bond dimension of the first contraction."""

FIRST_PIVOT = 1e-4
"""Smallest pivot of the first contraction, relative to the largest of its bond."""

PIVOT_STEP = 1e-2
"""From one contraction to the next pivots may be smaller by this factor; bonds may double."""

LAST_PIVOT = 1e-14
"""Smallest pivot that doubles resolve."""

PAIR_PIVOT = 1e-29
"""Smallest pivot of contractions in pairs of doubles, which kernels use for pivots below 1e-17."""

QUAD_PIVOT = 1e-59
"""Smallest pivot of contractions in quads (sums of four doubles), for pivots below 1e-33."""

COMPONENT_ERROR = 0.01
"""Largest error of the weight of a configuration at which contractions that agree are accepted."""

LOCAL = 0.3
"""Probabilities are off by about so many times the last change of log Z, divided by the square root
of the number of variables: .05 to 2 times on lattices of 16² to 256² with 2 to 4 labels."""

MARGIN = 10.0
"""Factor by which the first marginals should be better than their tolerance, because their error is
estimated."""

MOST_SHARPENED = 20.0
"""Largest factor by which the pivots of that contraction may be reduced."""

_RELATIVE = {False: (0.5, 0.75), True: (0.8, 0.7)}
# Contractions in turn scale by these powers, in doubles and in pairs or quads of them: an error
# that does not depend on the pivots (weights out of the reach of doubles, at low temperatures)
# shows in the change, too.


def in_doubles(max_bond: int, first: int = 0) -> Iterator[Accuracy]:
    """Yield accuracies, from the one of number ``first`` on.

    Bonds are as large as their pivots ask for: where the model is weak, they stay small. The
    largest dimension grows as well, so that first contractions are quick for every model. Every
    contraction keeps one more of the pivots below its tolerance than the one before: where pivots
    have a gap, both would cut the same otherwise, and their change would say nothing of it.

    >>> [(x.max_rank, x.tolerance, x.more) for x, _ in zip(in_doubles(48), range(4))]
    [(16, 0.0001, 0), (32, 1e-06, 1), (48, 1e-08, 2), (48, 1e-10, 3)]
    """
    level = first
    while True:
        yield Accuracy(
            min(FIRST_BOND << min(level, 24), max_bond),
            max(float(f"{FIRST_PIVOT * PIVOT_STEP**level:.0e}"), LAST_PIVOT),
            _RELATIVE[False][level % 2],
            level,
        )
        level += 1


def in_pairs(max_bond: int, pivot: float = PAIR_PIVOT) -> Iterator[Accuracy]:
    """Yield accuracies in pairs of doubles, or in quads: bonds double every second time.

    >>> [x.max_rank for x, _ in zip(in_pairs(30), range(4))]
    [16, 24, 30, 30]
    """
    bond, turn = FIRST_BOND, 0
    while True:
        yield Accuracy(min(bond, max_bond), pivot, _RELATIVE[True][turn % 2])
        bond, turn = bond * 3 // 2 if turn % 2 == 0 else bond * 4 // 3, turn + 1


def off_by(change: float, num_variables: int) -> float:
    """Estimate how far marginals of a contraction are off from the last change of log Z."""
    return LOCAL * change / math.sqrt(max(num_variables, 1))


def sharpened(accuracy: Accuracy, enough: float) -> Accuracy:
    """Return the accuracy of the first marginals, whose tolerance is ``enough`` times their error.

    >>> [sharpened(Accuracy(64, 1e-10), enough).tolerance for enough in (100.0, 5.0)]
    [1e-10, 5e-11]
    """
    factor = min(max(enough / MARGIN, 1 / MOST_SHARPENED), 1.0)
    return accuracy._replace(tolerance=max(accuracy.tolerance * factor, LAST_PIVOT))


# -- until nothing changes ----------------------------------------------------------------------

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


def keeps_components(values: list[Value]) -> bool:
    """Return whether the last two contractions kept the weights of all configurations.

    If not, both may have lost the same ones.
    """
    return max(value.found.component_error for value in values[-2:]) <= COMPONENT_ERROR


def kept_by_one(values: list[Value]) -> bool:
    """Return whether one of the last two contractions kept the weights of all configurations."""
    return min(value.found.component_error for value in values[-2:]) <= COMPONENT_ERROR


def kept_once(values: list[Value]) -> bool:
    """Return whether both contractions kept all weights, or one of two in quads did."""
    in_quads = values[-1].accuracy.tolerance < PAIR_PIVOT
    return keeps_components(values) or (in_quads and kept_by_one(values))


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


def is_last(value: Value, max_bond: int) -> bool:
    """Return whether no later contraction cuts bonds less than this one did.

    Of one that lost its digits the bonds are not known.
    """
    accuracy, found = value.accuracy, value.found
    uncut = found.largest_bond < accuracy.max_rank and not math.isnan(found.log_partition)
    return accuracy.tolerance <= LAST_PIVOT and (accuracy.max_rank >= max_bond or uncut)
