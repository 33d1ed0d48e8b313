"""What the four verbs return: an answer, its certificate, and how it was found."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planaris.result.files import save_result
from planaris.show import one_line
from planaris.typing import Array, BoolArray, FloatArray, Int8Array

Stats = dict[str, Any]


class Answer:
    """What all results can do."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result and its proof to a JSON file that ``planaris verify`` re-checks."""
        save_result(self, path)


@dataclass(frozen=True, eq=False)
class GroundState(Answer):
    """A lowest-energy state, with an interval that contains the minimum.

    Attributes
    ----------
    spins : numpy.ndarray
        int8, -1 or +1 (for a Markov random field: see ``assignment``).
    energy : float
        Energy of ``spins``, recomputed from the model: minus its log weight.
    lower, upper : float
        ``lower <= minimum <= upper == energy``.
    exact : bool
        True when ``spins`` is proved to be a ground state.
    method : str
        The method that was used.
    stats : dict
        Times, sizes and what else the method has to say.
    certificate : object or None
        Proof of ``lower`` that :mod:`planaris.verify` can check without the solver.
    certain : numpy.ndarray or None
        Where only part of the state is proved (persistency): True at proved spins.

    Examples
    --------
    >>> import planaris as pl
    >>> found = pl.ground_state(pl.IsingModel([(0, 1)], [-2.0], fields=[1.0, 0.0]))
    >>> found
    GroundState(spins=[1, -1], energy=-3.0, lower=-3.0, upper=-3.0, exact=True, method='planar')
    >>> found.assignment.tolist(), found.gap
    ([1, 0], 0.0)
    """

    spins: Int8Array
    energy: float
    lower: float
    upper: float
    exact: bool
    method: str
    stats: Stats = field(default_factory=dict, repr=False)
    certificate: Any = field(default=None, repr=False)
    certain: BoolArray | None = field(default=None, repr=False)

    __repr__ = one_line

    @property
    def assignment(self) -> Array:
        """The state as labels 0, 1, …: spin -1 is label 0 and +1 is label 1."""
        labels = self.stats.get("assignment")
        return (self.spins > 0).astype(np.int32) if labels is None else np.asarray(labels)

    @property
    def gap(self) -> float:
        """Width of the interval that holds the minimum energy."""
        return self.upper - self.lower


@dataclass(frozen=True, eq=False)
class LogPartition(Answer):
    """Natural logarithm of the partition function with an interval that contains it.

    Attributes
    ----------
    value : float
        The value, or the best estimate inside the interval.
    lower, upper : float
        ``lower <= log Z <= upper``; for an exact method they enclose the rounding error.
    exact : bool
        True when the only error is rounding, bounded by ``upper - lower``.
    method : str
        The method that was used.
    stats : dict
        Times, sizes, error estimate.
    certificate : object or None
        What :mod:`planaris.verify` checks it by, where there is something.

    Examples
    --------
    >>> import planaris as pl
    >>> z = pl.log_partition(pl.IsingModel([(0, 1)], [1.0]))
    >>> z.lower <= z.value <= z.upper, round(float(z), 4)  # log(2e + 2/e)
    (True, 1.8201)
    """

    value: float
    lower: float
    upper: float
    exact: bool
    method: str
    stats: Stats = field(default_factory=dict, repr=False)
    certificate: Any = field(default=None, repr=False)

    __repr__ = one_line

    def __float__(self) -> float:
        return self.value

    @property
    def gap(self) -> float:
        """Width of the interval that holds log Z."""
        return self.upper - self.lower


@dataclass(frozen=True, eq=False)
class Marginals(Answer):
    """Marginal probabilities of spins and edges.

    Attributes
    ----------
    nodes : numpy.ndarray or list of numpy.ndarray
        ``P(s_v = +1)`` of every spin; for a Markov random field, one table per variable.
    edges : numpy.ndarray or list of numpy.ndarray
        ``P(s_u = s_v)`` of every edge, in the order of ``model.edges``; for a Markov random
        field, one table per factor, shaped like the factor.
    exact : bool
        True when the only error is rounding.
    method : str
        The method that was used.
    stats : dict
        Times, sizes, error estimate.
    certificate : object or None
        What :mod:`planaris.verify` checks it by, where there is something.

    Examples
    --------
    >>> import planaris as pl
    >>> m = pl.marginals(pl.IsingModel([(0, 1)], [1.0]))
    >>> m.nodes.tolist(), m.edges.round(4).tolist(), m.exact  # without fields up half the time
    ([0.5, 0.5], [0.8808], True)
    """

    nodes: FloatArray | list[FloatArray]
    edges: FloatArray | list[FloatArray]
    exact: bool
    method: str
    stats: Stats = field(default_factory=dict, repr=False)
    certificate: Any = field(default=None, repr=False)

    __repr__ = one_line
