"""What the four verbs return: an answer, its interval, whether that is proved, and the proof."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self

import numpy as np

from planaris.errors import MethodError
from planaris.notebook import (
    facts_html,
    histogram_svg,
    interval_svg,
    labels_svg,
    shown_facts,
    trace_svg,
)
from planaris.result.proof import Proof
from planaris.show import one_line
from planaris.typing import Array, BoolArray, FloatArray, Int8Array, IntArray, LongArray

Stats = dict[str, Any]
"""Details for people to read: sizes, counts, what a search did. No code depends on them."""

Trace = list[dict[str, Any]]
"""How an interval closed: one record per improvement or round."""

Tables = FloatArray | list[FloatArray]
"""One probability per spin or edge; for a Markov random field one table per variable or factor."""

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    AnyTables = TypeVar("AnyTables", bound=Tables, default=Tables, covariant=True)
else:
    from typing import TypeVar

    AnyTables = TypeVar("AnyTables", bound=Tables, covariant=True)

LOG_PARTITION_TOLERANCE = 1e-6
"""Widest interval for log Z that counts as exact, in models of up to 1,000 variables."""

PER_VARIABLE = 1e-9
"""Widest interval for log Z that counts as exact, per variable, in larger models."""

MARGINAL_TOLERANCE = 1e-6
"""Largest error of a probability that counts as exact."""


class Mixture(NamedTuple):
    """Weighted subgraphs of a decomposition: the weights and the edges of each."""

    weights: FloatArray
    subgraphs: list[LongArray]


class Labelled(Protocol):
    """What a result needs to know of a model."""

    @property
    def energy_tolerance(self) -> float:
        """Widest interval around the minimum energy that counts as exact."""

    @property
    def has_one_energy(self) -> bool:
        """Whether all states that are allowed have the same energy."""

    def energy(self, states: Any, /) -> FloatArray:
        """Return the energy of a state."""

    def spins_and_labels(self, state: Any, /) -> tuple[Int8Array, IntArray]:
        """Return a state as spins (none with more than two labels) and as labels."""


class Pseudomarginals(NamedTuple):
    """Where a relaxation or bound has its optimum; estimates of marginals, nothing more.

    Attributes
    ----------
    nodes : numpy.ndarray or list of numpy.ndarray
        ``P(s_v = +1)``, or a table per variable.
    edges : numpy.ndarray, list of numpy.ndarray or None
        ``P(s_u = s_v)``, or a table per pair of variables; None where the bound has none.
    integrality : float
        Share of the variables that are integral, where that is known.
    """

    nodes: Tables
    edges: Tables | None
    integrality: float = math.nan


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answer:
    """What all results have in common.

    Attributes
    ----------
    method : str
        The method that was used.
    proved : bool
        True when the interval is a theorem about the computation that was done, False when it
        is an estimate: from comparing two computations, or from none.
    estimate : bool
        True when nothing bounds the stated error: such an answer is exact only if it is proved.
    seconds : float
        Time taken.
    status : str
        Why a search ended.
    rounds : int
        Iterations of a search.
    trace : list of dict
        How the interval closed: ``seconds`` or ``round``, ``lower``, ``upper``.
    certificate : Proof or None
        Proof that :mod:`planaris.verify` checks without the solver, where there is one.
    names : sequence of hashable
        Names of the model's variables; empty where they have none.
    stats : dict
        All of this once more and what else the method has to say, for people to read.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ()
    method: str
    proved: bool = True
    estimate: bool = False
    seconds: float = math.nan
    status: str = ""
    rounds: int = 0
    trace: Trace = field(default_factory=list)
    certificate: Proof | None = None
    names: Sequence[Hashable] = ()
    stats: Stats = field(default_factory=dict)

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "stats", {**self.stats, **self._details()})

    def _details(self) -> Stats:
        """Return the typed details that are known, by name."""
        known: Stats = {"seconds": self.seconds} if not math.isnan(self.seconds) else {}
        for name in ("status", "rounds", "trace"):
            if getattr(self, name):
                known[name] = getattr(self, name)
        return known

    def _picture(self) -> str:
        """Return a small drawing of the answer as SVG."""
        return ""

    def _repr_html_(self) -> str:
        facts = {**shown_facts(self), "proved": "yes" if self.proved else "no, error estimated"}
        return facts_html(type(self).__name__, facts, self._picture())

    def _by_name(self, values: Sequence[Any]) -> dict[Hashable, Any]:
        names = self.names if len(self.names) == len(values) else range(len(values))
        return dict(zip(names, values, strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result and its proof to a JSON file that ``planaris verify`` re-checks."""
        from planaris.result.files import save_result

        save_result(self, path)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Interval(Answer):
    """An answer that is a number between two ends.

    Attributes
    ----------
    lower, upper : float
        The ends.
    tolerance : float
        The widest interval that counts as exact (docs/conventions.md, "What exact means").
    pseudomarginals : Pseudomarginals or None
        Where the relaxation or bound behind the interval has its optimum.
    """

    lower: float
    upper: float
    tolerance: float = 0.0
    pseudomarginals: Pseudomarginals | None = None

    @property
    def gap(self) -> float:
        """Width of the interval."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def exact(self) -> bool:
        """Whether the interval is no wider than ``tolerance``, and no mere estimate."""
        return self.gap <= self.tolerance and (self.proved or not self.estimate)

    def _picture(self) -> str:
        return trace_svg(self.trace)

    def beliefs(self) -> FloatArray:
        """Return ``P(s_v = +1)`` at the optimum of the relaxation or bound: an estimate."""
        if self.pseudomarginals is None:
            msg = f"results by {self.method!r} come without pseudomarginals"
            raise MethodError(msg)
        return np.asarray(self.pseudomarginals.nodes)

    def _details(self) -> Stats:
        known = super()._details()
        if (guess := self.pseudomarginals) is not None:
            known["nodes"] = guess.nodes
            if guess.edges is not None:
                known["edges" if isinstance(guess.edges, np.ndarray) else "pairs"] = guess.edges
            if not math.isnan(guess.integrality):
                known["integrality"] = guess.integrality
        return known


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroundState(Interval):
    """A state of low energy, with an interval that contains the minimum.

    Attributes
    ----------
    spins : numpy.ndarray
        int8, -1 or +1; empty for a model with more than two labels.
    assignment : numpy.ndarray
        The state as labels 0, 1, …: spin -1 is label 0 and +1 is label 1.
    energy : float
        Energy of the state, recomputed from the model: minus its log weight.
    lower, upper : float
        ``lower <= minimum <= upper == energy``.
    exact : bool
        True when the interval is no wider than ``tolerance``: no state is better by more.
    tolerance : float
        :attr:`planaris.IsingModel.energy_tolerance` of the model.
    certain : numpy.ndarray or None
        Where only part of the state is proved (persistency): True at proved spins.
    method, proved, certificate, seconds, stats
        See :class:`Answer`.

    Examples
    --------
    >>> import planaris as pl
    >>> found = pl.ground_state(pl.IsingModel([(0, 1)], [-2.0], fields=[1.0, 0.0]))
    >>> found
    GroundState(spins=[1, -1], energy=-3.0, lower=-3.0, upper=-3.0, exact=True, method='planar')
    >>> found.assignment.tolist(), found.gap
    ([1, 0], 0.0)
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("spins", "energy", "lower", "upper", "exact", "method")
    INSTEAD: ClassVar[dict[str, str]] = {"spins": "assignment"}
    spins: Int8Array
    assignment: IntArray
    energy: float
    certain: BoolArray | None = None

    def _picture(self) -> str:
        labels = max(int(self.assignment.max(initial=0)) + 1, 2)
        return labels_svg(self.assignment, labels) + super()._picture()

    def by_label(self) -> dict[Hashable, int]:
        """Return the spin of every label; for a model with more labels, the assignment.

        >>> import planaris as pl
        >>> pair = pl.IsingModel.from_couplings({("a", "b"): -1.0}, {"a": 0.5})
        >>> pl.ground_state(pair).by_label()
        {'a': 1, 'b': -1}
        """
        state = self.spins if len(self.spins) else self.assignment
        return self._by_name(state.tolist())

    @classmethod
    def of(
        cls,
        model: Labelled,
        state: Array,
        lower: float | Callable[[float], float],
        *,
        method: str,
        **details: Any,
    ) -> Self:
        """Return the result for a state of a model, given a lower bound on all energies.

        ``state`` holds spins of an Ising model or labels of a Markov random field. The bound may
        be a function of the energy of the state.
        """
        return cls(method=method, **_stated(model, state, lower), **details)

    def restated(self, model: Labelled, state: Array, lower: float, **changes: Any) -> Self:
        """Return the same result for a state of another model, as :meth:`of` does."""
        return replace(self, **_stated(model, state, lower), **changes)

    def _details(self) -> Stats:
        known = super()._details()
        return known if len(self.spins) else {**known, "assignment": self.assignment}


def _stated(
    model: Labelled, state: Array, lower: float | Callable[[float], float]
) -> dict[str, Any]:
    """Return the fields of a ground state that follow from the model."""
    spins, labels = model.spins_and_labels(state)
    energy, tolerance = float(model.energy(state)), model.energy_tolerance
    lower = lower(energy) if callable(lower) else lower
    if tolerance == 0.0 and math.isfinite(energy) and model.has_one_energy:
        lower = energy
    return {
        "spins": spins,
        "assignment": labels,
        "energy": energy,
        "lower": min(lower, energy),
        "upper": energy,
        "tolerance": tolerance,
    }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LogPartition(Interval):
    """Natural logarithm of the partition function with an interval that contains it.

    Attributes
    ----------
    value : float
        The value, or the best estimate inside the interval.
    lower, upper : float
        ``lower <= log Z <= upper``; for an exact method they enclose the rounding error.
    exact : bool
        True when the interval is no wider than ``tolerance``: 1e-6, or 1e-9 per variable in
        models of more than 1,000 variables.
    mixture : Mixture or None
        Decompositions: the subgraphs behind ``upper``.
    excess : float or None
        Planar models: log Z minus the log weight of a ground state, without cancellation.
    method, proved, certificate, seconds, stats
        See :class:`Answer`.

    Examples
    --------
    >>> import planaris as pl
    >>> z = pl.log_partition(pl.IsingModel([(0, 1)], [1.0]))
    >>> z.lower <= z.value <= z.upper, round(float(z), 4)  # log(2e + 2/e)
    (True, 1.8201)
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("value", "lower", "upper", "exact", "method")
    value: float
    tolerance: float = LOG_PARTITION_TOLERANCE
    excess: float | None = None
    mixture: Mixture | None = None

    @classmethod
    def around(
        cls, value: float, error: float, *, num_variables: int, method: str, **details: Any
    ) -> Self:
        """Return the result for a value that is off by ``error`` at most."""
        return cls(
            value=value,
            lower=math.nextafter(value - error, -math.inf) if math.isfinite(value) else value,
            upper=math.nextafter(value + error, math.inf) if math.isfinite(value) else value,
            tolerance=log_partition_tolerance(num_variables),
            method=method,
            **details,
        )

    @classmethod
    def between(
        cls, lower: float, upper: float, *, num_variables: int, method: str, **details: Any
    ) -> Self:
        """Return the result for an interval: its middle, or its finite end."""
        value = lower if lower == upper else (lower + upper) / 2
        if not math.isfinite(value):
            value = lower if math.isfinite(lower) else upper
        return cls(
            value=details.pop("value", value),
            lower=lower,
            upper=upper,
            tolerance=log_partition_tolerance(num_variables),
            method=method,
            **details,
        )

    def __float__(self) -> float:
        return self.value

    def _picture(self) -> str:
        closing = super()._picture()
        return closing or ("" if self.exact else interval_svg(self.lower, self.upper, self.value))

    def _details(self) -> Stats:
        known = super()._details()
        return known if self.excess is None else {**known, "excess": self.excess}


def log_partition_tolerance(num_variables: int) -> float:
    """Return the widest interval for log Z that counts as exact.

    >>> log_partition_tolerance(10), log_partition_tolerance(10**6)
    (1e-06, 0.001)
    """
    return max(LOG_PARTITION_TOLERANCE, PER_VARIABLE * num_variables)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Marginals(Answer, Generic[AnyTables]):
    """Marginal probabilities of spins and edges.

    For type checkers those of an Ising model are ``Marginals[FloatArray]``, those of a Markov
    random field ``Marginals[list[FloatArray]]``.

    Attributes
    ----------
    nodes : numpy.ndarray or list of numpy.ndarray
        ``P(s_v = +1)`` of every spin; for a Markov random field, one table per variable.
    edges : numpy.ndarray or list of numpy.ndarray
        ``P(s_u = s_v)`` of every edge, in the order of ``model.edges``; for a Markov random
        field, one table per factor, shaped like the factor.
    error : float
        How far any probability may be off; infinite for estimates of which nothing is known.
    exact : bool
        True when ``error`` is at most 1e-6.
    nodes_lower, nodes_upper, edges_lower, edges_upper : like nodes and edges, or None
        Ends of intervals that contain the probabilities, where the method gives them.
    log_partition : LogPartition or None
        log Z, where it comes with the marginals.
    method, proved, certificate, seconds, stats
        See :class:`Answer`.

    Examples
    --------
    >>> import planaris as pl
    >>> m = pl.marginals(pl.IsingModel([(0, 1)], [1.0]))
    >>> m.nodes.tolist(), m.edges.round(4).tolist(), m.exact  # without fields up half the time
    ([0.5, 0.5], [0.8808], True)
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("nodes", "edges", "exact", "method")
    nodes: AnyTables
    edges: AnyTables
    error: float = math.inf
    nodes_lower: AnyTables | None = None
    nodes_upper: AnyTables | None = None
    edges_lower: AnyTables | None = None
    edges_upper: AnyTables | None = None
    log_partition: LogPartition | None = None

    @property
    def exact(self) -> bool:
        """Whether no probability may be off by more than 1e-6, and none is a mere estimate."""
        return self.error <= MARGINAL_TOLERANCE and (self.proved or not self.estimate)

    def _picture(self) -> str:
        nodes, edges = self.nodes, self.edges
        if isinstance(nodes, np.ndarray) and isinstance(edges, np.ndarray):
            even = len(edges) > 0 and np.allclose(nodes, 0.5)  # without fields: edges say more
            return histogram_svg(edges, "P(alike)") if even else histogram_svg(nodes, "P(s = +1)")
        return histogram_svg([float(table.max()) for table in self.nodes], "P(likeliest label)")

    def by_label(self) -> dict[Hashable, Any]:
        """Return P(s = +1) of every label; for a Markov random field, the table of each.

        >>> import planaris as pl
        >>> found = pl.marginals(pl.IsingModel.from_couplings({("a", "b"): 1.0}, {"a": 2.0}))
        >>> {name: round(p, 4) for name, p in found.by_label().items()}
        {'a': 0.982, 'b': 0.8671}
        """
        nodes = self.nodes
        return self._by_name(nodes.tolist() if isinstance(nodes, np.ndarray) else nodes)

    @property
    def log_z(self) -> float:
        """Log Z that came with the marginals."""
        if self.log_partition is None:
            msg = f"marginals by {self.method!r} come without log Z; ask planaris.log_partition"
            raise MethodError(msg)
        return self.log_partition.value

    def _details(self) -> Stats:
        known = super()._details()
        if math.isfinite(self.error):
            known["error"] = self.error
        ends = {
            "lower": self.nodes_lower,
            "upper": self.nodes_upper,
            "edges_lower": self.edges_lower,
            "edges_upper": self.edges_upper,
            "log_partition": self.log_partition,
        }
        return known | {name: value for name, value in ends.items() if value is not None}
