"""Models with labels as spins, for bounds by planar subgraphs (GJ06 leaves them open).

Every code of a label keeps the label's weight, and codes of no label get less, but not zero: with
finite penalties ``Z <= Z(spins)``, whatever the penalties. So an upper bound for the spins is one
for the labels, and no coupling is infinite.

``"order"``: k - 1 spins say ``x > 0``, ``x > 1``, ...; a chain of couplings P from the bias spin
through them and back, negative at its end, leaves one broken edge for a label and three or more
for other codes. The chains of all variables together are planar, so every subgraph holds them.
``"one-hot"``: k spins, one of which is up; the penalty joins all of them, which is not planar from
four labels on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planaris.bounds.labels.mean_field import label_mean_field
from planaris.bounds.labels.trees import label_trw, table_upper, without_trees, without_zeros
from planaris.budget import UNLIMITED, Budget
from planaris.errors import MethodError, require_one_of
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.tables import PairwiseView
from planaris.result import LogPartition, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON, as_bias_model
from planaris.subgraphs.families import planar_family
from planaris.typing import FloatArray, IntArray, LongArray

ENCODINGS = ("order", "one-hot")

MARGIN = 8.0
"""Part of a penalty beyond the largest gain of a code of no label, which then weighs at most e^-8
of a label."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Spins that stand for labels.

    Attributes
    ----------
    mrf : MarkovRandomField
        The model with labels.
    view : PairwiseView
        Its tables.
    model : IsingModel
        The spins, with a partition function that is no smaller.
    first : numpy.ndarray
        First spin of every variable, and the end.
    penalties : numpy.ndarray
        Strength of the constraint of every variable.
    chained : numpy.ndarray
        Edges of the model with a bias spin that hold a penalty.
    slack : float
        Bound on the rounding of log Z.
    """

    mrf: MarkovRandomField
    view: PairwiseView
    encoding: str
    model: IsingModel
    first: LongArray
    penalties: FloatArray
    chained: LongArray
    slack: float

    def nodes(self, up: FloatArray) -> list[FloatArray]:
        """Return estimates of P(x = label) from P(s = +1) of the spins."""
        tables = []
        for v, k in enumerate(self.mrf.cardinalities.tolist()):
            here = up[self.first[v] : self.first[v + 1]]
            if k == 1:
                tables.append(np.ones(1))
                continue
            if self.encoding == "order":
                here = -np.diff(np.concatenate([[1.0], here, [0.0]]))
            mu = np.maximum(here, 0.0)
            tables.append(mu / mu.sum() if mu.sum() > 0 else np.full(k, 1 / k))
        return tables

    def pairs(self, up: FloatArray, equal: FloatArray) -> list[FloatArray]:
        """Return estimates of P(x_u, x_v) from P(s = +1) and P(s_i = s_j) of the spins."""
        place = {tuple(sorted(ends)): e for e, ends in enumerate(self.model.edges.tolist())}
        singles = self.nodes(up)
        tables = []
        for u, v in self.view.edges.tolist():
            a, b = (np.arange(self.first[w], self.first[w + 1]) for w in (u, v))
            if not len(a) or not len(b):
                tables.append(np.outer(singles[u], singles[v]))
                continue
            at = np.array([[place[i, j] if i < j else place[j, i] for j in b] for i in a.tolist()])
            both = (equal[at] + up[a][:, None] + up[b][None, :] - 1) / 2
            if self.encoding == "order":
                tail = np.zeros((len(a) + 2, len(b) + 2))
                tail[:-1, 0], tail[0, :-1] = [1.0, *up[a]], [1.0, *up[b]]
                tail[1:-1, 1:-1] = both
                both = np.diff(np.diff(tail, axis=0), axis=1)
            table = np.maximum(both, 0.0)
            total = table.sum()
            tables.append(table / total if total > 0 else np.outer(singles[u], singles[v]))
        return tables


def encode_labels(
    mrf: MarkovRandomField,
    *,
    encoding: str = "order",
    penalty: float | None = None,
    budget: Budget = UNLIMITED,
) -> Encoded:
    """Return spins whose log Z is no smaller than that of a pairwise model with labels.

    Parameters
    ----------
    mrf : MarkovRandomField
        Pairwise; zeros become small potentials, which raises log Z.
    encoding : {"order", "one-hot"}
        See above.
    penalty : float, optional
        Strength of the constraints; default: so large that codes of no label weigh next to
        nothing.
    budget : Budget
        ``TimeoutError`` when its time is over before.

    Examples
    --------
    >>> pair = MarkovRandomField([3, 3], [((0, 1), np.exp(np.eye(3)))])
    >>> spins = encode_labels(pair)
    >>> spins.model.num_spins
    4
    >>> import planaris as pl
    >>> bool(np.log(3 * np.e + 6) <= pl.log_partition(spins.model).upper < 2.67)
    True
    """
    require_one_of("encoding", encoding, ENCODINGS)
    if penalty is not None and not (np.isfinite(penalty) and penalty >= 0):
        msg = f"`penalty` must be a finite number of at least zero, got {penalty!r}"
        raise MethodError(msg, penalty=penalty)
    view = mrf.pairwise_view()
    cards = mrf.cardinalities.astype(np.int64)
    ordered = encoding == "order"
    counts = np.where(cards > 1, cards - ordered, 0)
    first = np.concatenate([[0], np.cumsum(counts)])
    table = _Quadratic(int(first[-1]))
    node_logs = without_zeros(view.node_logs, view.node_offsets)
    edge_logs = without_zeros(view.edge_logs, view.edge_offsets)
    for v in range(len(cards)):
        budget.check()
        logs = node_logs[view.node_offsets[v] : view.node_offsets[v + 1]]
        table.add_node(logs, int(first[v]), int(counts[v]), ordered=ordered)
    for e, (u, v) in enumerate(view.edges.tolist()):
        budget.check()
        shape = int(cards[u]), int(cards[v])
        logs = edge_logs[view.edge_offsets[e] : view.edge_offsets[e + 1]].reshape(shape)
        places = (int(first[u]), int(counts[u])), (int(first[v]), int(counts[v]))
        table.add_pair(logs, places, ordered=ordered)
    gains = table.gains(budget)
    penalties = np.zeros(len(cards))
    for v in range(len(cards)):
        budget.check()
        here = slice(int(first[v]), int(first[v + 1]))
        most = float(gains[here].sum()) + MARGIN if counts[v] else 0.0
        penalties[v] = most if penalty is None else penalty
    model, chained = table.spins(view.constant, first, penalties, budget, ordered=ordered)
    size = float(
        np.abs(node_logs).sum() + np.abs(edge_logs).sum() + penalties @ (counts + 1.0) ** 2
    )
    return Encoded(mrf, view, encoding, model, first, penalties, chained, 64 * EPSILON * (size + 1))


class _Quadratic:
    """A quadratic function of bits 0 and 1, from tables of labels."""

    def __init__(self, count: int) -> None:
        self.count, self.constant = count, 0.0
        self.linear: FloatArray = np.zeros(count)
        self.ends: list[IntArray] = []
        self.values: list[FloatArray] = []

    def add_node(self, logs: FloatArray, first: int, count: int, *, ordered: bool) -> None:
        """Add a table of a variable: differences of neighbouring labels, or the labels."""
        if not count:
            self.constant += float(logs[0])
        elif ordered:
            self.constant += float(logs[0])
            self.linear[first : first + count] += np.diff(logs)
        else:
            self.linear[first : first + count] += logs

    def add_pair(
        self, logs: FloatArray, places: tuple[tuple[int, int], ...], *, ordered: bool
    ) -> None:
        """Add a table of a pair; variables of one label have no bits."""
        (u, nu), (v, nv) = places
        if not nu or not nv:
            self.add_node(logs.ravel(), u if nu else v, nu or nv, ordered=ordered)
            return
        corner = logs
        if ordered:
            self.constant += float(logs[0, 0])
            self.linear[u : u + nu] += np.diff(logs[:, 0])
            self.linear[v : v + nv] += np.diff(logs[0])
            corner = np.diff(np.diff(logs, axis=0), axis=1)
        where = np.indices(corner.shape).reshape(2, -1).T
        self.ends.append((where + np.array([u, v])).astype(np.int32))
        self.values.append(corner.ravel())

    def gains(self, budget: Budget) -> FloatArray:
        """Return what every bit can add to the log weight, whatever the others are."""
        total = np.abs(self.linear)
        for ends, values in zip(self.ends, self.values, strict=True):
            budget.check()
            np.add.at(total, ends.ravel(), np.repeat(np.abs(values), 2))
        return np.asarray(total)

    def spins(
        self,
        constant: float,
        first: LongArray,
        penalties: FloatArray,
        budget: Budget,
        *,
        ordered: bool,
    ) -> tuple[IsingModel, LongArray]:
        """Return the Ising model, bits as (1 + s) / 2, with penalties; and their edges."""
        linear, offset = self.linear.copy(), self.constant + constant
        ends, values = list(self.ends), list(self.values)
        heavy, held = [np.zeros((0, 2), dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
        for v, strength in enumerate(penalties.tolist()):
            budget.check()
            here = np.arange(first[v], first[v + 1])
            if not len(here):
                continue
            if ordered:  # -P [bit i + 1 without bit i]
                pairs = np.column_stack([here[:-1], here[1:]])
                linear[here[1:]] -= strength
                values.append(np.full(len(pairs), strength))
                held.append(here[[0, -1]] if len(here) > 1 else here[:0])
            else:  # -P (Σ bits - 1)²
                offset -= strength
                linear[here] += strength
                i, j = np.triu_indices(len(here), 1)
                pairs = np.column_stack([here[i], here[j]])
                values.append(np.full(len(pairs), -2 * strength))
                held.append(here)
            ends.append(pairs.astype(np.int32))
            heavy.append(pairs.astype(np.int32))
        budget.check()
        edges = np.concatenate([np.zeros((0, 2), dtype=np.int32), *ends])
        flat = np.concatenate([np.zeros(0), *values])
        fields = linear / 2 + np.bincount(edges.ravel(), np.repeat(flat, 2), self.count) / 4
        offset += float(linear.sum()) / 2 + float(flat.sum()) / 4
        model = IsingModel(edges, flat / 4, fields, num_spins=self.count, offset=offset)
        budget.check()
        # Numbers of edges, by their ends.
        keys = np.sort(model.edges, axis=1).astype(np.int64) @ [self.count, 1]
        budget.check()
        order = np.argsort(keys)
        sought = np.sort(np.concatenate(heavy), axis=1).astype(np.int64) @ [self.count, 1]
        inner = order[np.searchsorted(keys, sought, sorter=order)]
        chained = np.concatenate([inner, model.num_edges + np.concatenate(held)])
        return model, chained


def encoded_subgraphs(
    encoded: Encoded, rng: np.random.Generator, *, budget: Budget = UNLIMITED
) -> list[LongArray]:
    """Return planar subgraphs that hold all constraints, where those are planar, and every edge.

    A subgraph without the constraints would count codes of no label.
    """
    bare = as_bias_model(encoded.model)
    chained = encoded.chained[encoded.chained < bare.num_edges]
    return planar_family(bare, rng, least=8, most=24, first=chained, budget=budget)


ENCODING_SECONDS = 4e-5
"""Estimated time per entry of a table of a pair, to encode labels as spins and to prepare
subgraphs."""

PENALTY = 16.0
"""Penalty that is tried first: codes of no label weigh little, and the optimiser converges faster
than with a larger one."""


def encoded_bound(
    mrf: MarkovRandomField,
    bound: Callable[[IsingModel, list[LongArray], Budget], LogPartition],
    *,
    encoding: str,
    penalty: float | None,
    rng: np.random.Generator | None,
    budget: Budget,
) -> LogPartition:
    """Bound log Z of a model with labels by a bound for spins; the better of two penalties."""
    try:
        with budget.for_structure():
            view = mrf.pairwise_view()
    except TimeoutError:
        return replace(without_trees(mrf, budget), method="pdc")
    if not mrf.num_variables or view.constant == -math.inf:
        return label_trw(mrf)
    # Two encodings and the planarity tests look at the clock only afterwards.
    if budget.remaining() < ENCODING_SECONDS * len(view.edge_logs):
        return replace(label_trw(mrf, time_limit=budget), method="pdc", status="time_limit")
    try:
        safe = encode_labels(mrf, encoding=encoding, penalty=penalty, budget=budget)
        tries = [safe]
        if penalty is None and safe.penalties.max(initial=0.0) > PENALTY:
            weaker = encode_labels(mrf, encoding=encoding, penalty=PENALTY, budget=budget)
            tries.insert(0, weaker)
    except TimeoutError:
        tries = []
    best: LogPartition | None = None
    for k, encoded in enumerate(tries):
        mine = budget.share(1 / (len(tries) - k))
        try:
            generator = np.random.default_rng(0) if rng is None else rng
            family = encoded_subgraphs(encoded, generator, budget=mine.share(0.5))
        except TimeoutError:
            break
        found = _lifted(encoded, bound(encoded.model, family, mine), budget)
        best = found if best is None or found.upper < best.upper else best
    if best is None:
        return replace(label_trw(mrf, time_limit=budget), method="pdc", status="time_limit")
    return best


def _lifted(encoded: Encoded, found: LogPartition, budget: Budget) -> LogPartition:
    mrf, guess = encoded.mrf, found.pseudomarginals
    upper = min(math.nextafter(found.upper + encoded.slack, math.inf), table_upper(mrf))
    lower, below = -math.inf, None
    if not mrf.has_zeros:
        floor = label_mean_field(mrf, time_limit=budget.unlimited().within(0.5))
        lower, below = floor.lower, floor.certificate
    if guess is None or guess.edges is None:
        nodes = [np.full(k, 1 / k) for k in mrf.cardinalities.tolist()]
        tables = None
    else:
        nodes = encoded.nodes(np.asarray(guess.nodes))
        tables = encoded.pairs(np.asarray(guess.nodes), np.asarray(guess.edges))
    return LogPartition.between(
        min(lower, upper),
        upper,
        value=upper,
        num_variables=mrf.num_variables,
        method="pdc",
        status=found.status,
        pseudomarginals=Pseudomarginals(nodes, tables),
        seconds=budget.seconds(),
        certificate=below,
        stats={
            "encoding": encoded.encoding,
            "penalty": float(encoded.penalties.max(initial=0.0)),
            "spins": encoded.model.num_spins,
            "subgraphs": 0 if found.mixture is None else len(found.mixture.weights),
        },
    )
