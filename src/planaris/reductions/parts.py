"""A model as the biconnected components it is made of, and its results from theirs.

A zero-field model is, up to the sign of each component of the graph, a statement about which
edges have ends that differ. Those statements are independent from one biconnected component to
the next, so ground states, log Z, edge marginals and samples of the whole follow from the parts:
each part may be solved by whatever fits it (SK08 section 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from planaris import planar
from planaris.budget import UNLIMITED, Budget, check_structure
from planaris.embed import (
    Embedding,
    embed,
    embedding_on_torus,
    join_bias_spin,
    may_lie_on_torus,
    periodic_lattice,
)
from planaris.errors import CrossingError, EmbeddingError
from planaris.kernels.cuts import spins_from_disagreements
from planaris.kernels.graph import biconnected_components, connected_components
from planaris.models import (
    Inverse,
    IsingModel,
    MarkovRandomField,
    bias2fields,
    fields2bias,
    require_ising,
)
from planaris.models.arrays import compact
from planaris.models.base import memo_of, once_per_model
from planaris.models.bias_spin import WithoutBias
from planaris.planar import Plan
from planaris.planar.pfaffian.evaluator import CutSumCertificate
from planaris.relax.cut_form import energy_quantum
from planaris.result import GroundState, LogPartition, Marginals, PartProof, PartProofs, Stats
from planaris.subgraphs.bias_model import EPSILON, LOG2, plane_embedding
from planaris.typing import Array, BoolArray, FloatArray, Int8Array, IntArray, LongArray

Results = Sequence[GroundState | LogPartition | Marginals]

FromBias = Callable[["Split", Budget], tuple[FloatArray, float]]
"""Correlations of every spin with the bias spin, and their error."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some biconnected components of a model, as a model of their own."""

    model: IsingModel
    """The part with its spins renumbered; without fields and offset."""
    edges: LongArray
    """Edges of the whole that make up the part, in the order of ``model.edges``."""
    spins: IntArray
    """Spins of the whole that the part touches, in the order of its own spins."""
    embedding: Embedding | None
    """A rotation system: plane when found here, as given otherwise."""
    bias: int = -1
    """The part's own number of the bias spin, or -1."""
    positions: FloatArray | None = None
    """Coordinates of the part's spins (nan for the bias spin), where the model has them."""

    @cached_property
    def plan(self) -> Plan:
        """The part with an embedding, prepared for log Z, marginals and samples."""
        assert self.embedding is not None, "only parts with an embedding have a plan"
        positions = self.model.positions if self.positions is None else self.positions
        return Plan(self.embedding, positions=positions)

    def at(self, beta: float) -> Part:
        """Return the part with its couplings multiplied; the plan is shared."""
        scaled = replace(self, model=beta * self.model)
        if self.embedding is not None:
            scaled.__dict__["plan"] = self.plan
        return scaled

    def ground_state(self, budget: Budget) -> GroundState:
        """Return a ground state of a part with an embedding."""
        return planar.ground_state(self.model, embedding=self.embedding, time_limit=budget)

    def log_partition(self, budget: Budget) -> LogPartition:
        """Return log Z of a part with an embedding."""
        found: LogPartition = self.plan.log_partition(self.model.couplings, time_limit=budget)
        return found

    def marginals(self, budget: Budget) -> Marginals:
        """Return the edge marginals of a part with an embedding."""
        found: Marginals = self.plan.marginals(self.model.couplings, time_limit=budget)
        return found

    def sample(self, size: int, rng: np.random.Generator | None, budget: Budget) -> Array:
        """Return samples of a part with an embedding."""
        return self.plan.sample(self.model.couplings, size, rng, time_limit=budget)

    def with_fields(self) -> tuple[IsingModel, Inverse | None]:
        """Return the part with its bias spin turned back into fields, and the way back.

        For elimination: a bias spin is a neighbour of all spins with fields, which widens tables.
        """
        if self.bias < 0:
            return self.model, None
        free, inverse = bias2fields(self.model, self.bias)
        if self.positions is None:
            return free, inverse
        kept = np.arange(self.model.num_spins) != self.bias
        return free.with_positions(self.positions[kept]), inverse

    @property
    def is_plane(self) -> bool:
        """Whether the part has a plane embedding."""
        return self.embedding is not None and self.embedding.genus == 0

    def describe(self) -> dict[str, object]:
        """Summarise the part for ``stats``."""
        size = {"spins": self.model.num_spins, "edges": self.model.num_edges}
        return {**size, "planar": self.is_plane}


@dataclass(frozen=True, eq=False)
class Split:
    """A model split into parts; external fields are couplings to a bias spin, the last one."""

    original: IsingModel
    bare: IsingModel
    inverse: WithoutBias | None
    parts: list[Part]

    def at(self, scaled: IsingModel, beta: float) -> Split:
        """Return the split of the model at another temperature, with the same plans."""
        inverse = self.inverse
        if inverse is not None:
            inverse = replace(inverse, original=scaled)
        parts = [part.at(beta) for part in self.parts]
        return Split(scaled, beta * self.bare, inverse, parts)

    @property
    def is_one_part(self) -> bool:
        """Whether the model is its only part: connected or not, without fields and offset."""
        return len(self.parts) == 1 and self.parts[0].model is self.original

    def components(self) -> IntArray:
        """Return the connected component of every spin, the bias spin included."""
        return connected_components(self.bare.num_spins, np.ascontiguousarray(self.bare.edges))

    def join_spins(self, differ: BoolArray) -> Int8Array:
        """Return the state of the original model that cuts the marked edges (fields are edges)."""
        spins, _ = spins_from_disagreements(self.bare.num_spins, self.bare.edges, differ)
        return spins if self.inverse is None else self.inverse.lift_states(spins)

    def certificate(self, found: list[Any]) -> CutSumCertificate | None:
        """Return the certificate of a sum over the states from those of its parts."""
        if len(found) != 1 or not isinstance(found[0], CutSumCertificate):
            return None
        return found[0] if self.inverse is None else found[0].without_bias()


def split_model(
    model: IsingModel, embedding: Embedding | None = None, *, budget: Budget = UNLIMITED
) -> Split:
    """Join fields to a bias spin and split off the non-planar biconnected components.

    All planar biconnected components make up the first part, if there are any; a model with
    a given embedding is one part, and so is a periodic lattice, which gets one of genus one.
    ``TimeoutError`` is raised once the time is over.

    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> model = IsingModel([*k5, (4, 5), (5, 6)], 1.0)
    >>> [part.describe() for part in split_model(model).parts]
    [{'spins': 3, 'edges': 2, 'planar': True}, {'spins': 5, 'edges': 10, 'planar': False}]
    """
    require_ising(model)
    if embedding is None:
        with budget.for_structure():
            return _split(model)
    bare, inverse = fields2bias(model) if model.has_fields else (model, None)
    _check_fits(embedding, bare)
    return Split(model, bare, inverse, [_whole(bare, embedding)])


@once_per_model
def _split(model: IsingModel) -> Split:
    bare, inverse = fields2bias(model) if model.has_fields else (model, None)
    if bare.positions is None and np.all(bare.couplings):
        embedding = plane_embedding(model)  # of the same edges: bounds share it
    else:
        embedding = _embed(bare)
    if embedding is None:
        found = periodic_lattice(bare.edges, bare.num_spins)
        embedding = None if found is None else found.embedding
    if embedding is not None:
        return Split(model, bare, inverse, [_whole(bare, embedding)])
    return Split(model, bare, inverse, _blocks(bare, inverse is not None, model.positions))


def share_structure(
    model: IsingModel | MarkovRandomField, beta: float
) -> IsingModel | MarkovRandomField:
    """Return ``model.at(beta)``, sharing the split and the plans of the model.

    >>> model = IsingModel([(0, 1), (1, 2), (2, 0)], 1.0)
    >>> scaled = share_structure(model, 0.5)
    >>> split_model(scaled).parts[0].plan is split_model(model).parts[0].plan
    True
    """
    if not isinstance(model, IsingModel):
        return model.at(beta)
    scaled = model.at(beta)
    if np.array_equal(scaled.fields != 0, model.fields != 0):  # the same edges to a bias spin
        key = (_split.__module__, _split.__qualname__, (), ())
        memo_of(scaled)[key] = split_model(model).at(scaled, beta)
    return scaled


def all_planar(
    model: IsingModel, embedding: Embedding | None = None, *, budget: Budget = UNLIMITED
) -> Split:
    """Split a model and refuse it, with a Kuratowski subgraph, unless all of it is planar.

    ``TimeoutError`` is raised once the time is over.

    >>> len(all_planar(IsingModel([(0, 1), (1, 2), (2, 0)], 1.0)).parts)
    1
    """
    split = split_model(model, embedding, budget=budget)
    if embedding is None and not all(part.is_plane for part in split.parts):
        with budget.for_structure():
            join_bias_spin(model)  # raises
    return split


def _blocks(model: IsingModel, has_bias: bool, positions: FloatArray | None) -> list[Part]:
    if positions is not None and has_bias:
        positions = np.concatenate([positions, np.full((1, 2), np.nan)])
    bias = model.num_spins - 1 if has_bias else -1
    count, block_of, _ = biconnected_components(model.num_spins, model.edges)
    check_structure()
    order = np.argsort(block_of, kind="stable")
    begin = np.searchsorted(block_of[order], np.arange(count + 1))
    sizes = np.diff(begin)
    # K5 has 10 edges and K3,3 has 9: smaller blocks are planar.
    planar = [order[np.repeat(sizes < 9, sizes)]]
    others: list[Part] = []
    large = np.flatnonzero(sizes >= 9)
    for block in large:
        check_structure()
        members = np.sort(order[begin[block] : begin[block + 1]])
        check_structure()
        part = _restrict(model, members, bias, positions)
        check_structure()
        # The model is not planar, so its only large block is not.
        surface = None if len(large) == 1 else _embed(part.model)
        if surface is None:
            others.append(replace(part, embedding=_on_torus(part, model)))
        else:
            planar.append(members)
    check_structure()
    together = np.sort(np.concatenate(planar))
    if not len(together):
        return others
    part = _restrict(model, together, bias, positions)
    return [replace(part, embedding=_embed(part.model)), *others]


def _on_torus(block: Part, whole: IsingModel) -> Embedding | None:
    """Embed a block that is not planar on a torus, or return None; the whole is no lattice."""
    n, edges = block.model.num_spins, block.model.edges
    if not may_lie_on_torus(edges, n, block.bias):
        return None
    is_whole = (n, len(edges)) == (whole.num_spins, whole.num_edges)
    lattice = None if is_whole else periodic_lattice(edges, n)
    return embedding_on_torus(edges, n) if lattice is None else lattice.embedding


def _whole(model: IsingModel, embedding: Embedding) -> Part:
    everything = np.arange(model.num_edges, dtype=np.int64)
    spins = np.arange(model.num_spins, dtype=np.int32)
    return Part(model.without_offset(), everything, spins, embedding)


def _restrict(
    model: IsingModel, members: LongArray, bias: int, positions: FloatArray | None
) -> Part:
    spins, edges = compact(model.edges[members], model.num_spins)
    part = IsingModel(edges, model.couplings[members], num_spins=len(spins))
    at = np.flatnonzero(spins == bias)
    return Part(
        part,
        members,
        spins,
        None,
        bias=int(at[0]) if at.size else -1,
        positions=None if positions is None else positions[spins],
    )


def _embed(model: IsingModel) -> Embedding | None:
    """Embed by the positions, or by the planarity test where they cross; None if not planar."""
    if model.positions is not None:
        with suppress(CrossingError):
            return embed(model)
    return Embedding.if_planar(model.edges, num_vertices=model.num_spins)


def _check_fits(embedding: Any, bare: IsingModel) -> None:
    if not isinstance(embedding, Embedding):
        msg = (
            f"`embedding` must be an Embedding, got {type(embedding).__name__}; make one with "
            "planaris.embed.embed, torus_lattice or embedding_with_handles"
        )
        raise EmbeddingError(msg)
    if embedding.num_vertices != bare.num_spins or not np.array_equal(embedding.edges, bare.edges):
        msg = (
            f"`embedding` must have the model's {bare.num_spins} vertices and {bare.num_edges} "
            "edges in the same order (fields count as edges to one more spin, the last one), "
            f"got {embedding.num_vertices} vertices and {embedding.num_edges} edges"
        )
        raise EmbeddingError(msg)


def num_components(model: IsingModel) -> int:
    """Return the number of connected components, isolated spins included."""
    if model.num_spins == 0:
        return 0
    return int(connected_components(model.num_spins, np.ascontiguousarray(model.edges)).max()) + 1


# -- results of the whole from those of its parts ------------------------------------------------


def join_ground_states(split: Split, results: Sequence[GroundState], budget: Budget) -> GroundState:
    """Return the ground state of the whole."""
    if split.is_one_part:
        (found,) = results
        return replace(
            found,
            lower=_total_lower(split, results, found.energy),
            certificate=_proofs(split, results),
            **_shared(split, results, budget),
        )
    differ = np.zeros(split.bare.num_edges, dtype=bool)
    for part, result in zip(split.parts, results, strict=True):
        u, v = part.model.edges.T
        differ[part.edges] = result.spins[u] != result.spins[v]
    spins = split.join_spins(differ)
    return GroundState.of(
        split.original,
        spins,
        lambda energy: _total_lower(split, results, energy),
        certificate=_proofs(split, results),
        **_shared(split, results, budget),
    )


def _proofs(split: Split, results: Sequence[GroundState]) -> PartProofs:
    return PartProofs(
        PartProof(part.edges, r.lower, r.certificate)
        for part, r in zip(split.parts, results, strict=True)
    )


def _total_lower(split: Split, results: Sequence[GroundState], energy: float) -> float:
    """Add up the lower bounds of the parts; no gap where no other energy fits in.

    A bound is at most the least energy rounded to nearest, which may be half a step above the
    least energy itself; sums are rounded to nearest again. Matchings are exact.
    """
    if all(result.lower == result.energy and result.method == "planar" for result in results):
        return energy
    lowers = [math.nextafter(result.lower, -math.inf) for result in results]
    total = math.fsum([*lowers, -split.original.offset])
    if len(results) == 1 and split.original.offset == 0:
        total = results[0].lower
    lower = min(energy, total)
    if not all(result.exact for result in results):  # a gap that counts stays open
        lower = min(lower, math.nextafter(energy, -math.inf))
    return energy if energy - lower < energy_quantum(split.original) / 2 else lower


def join_log_partitions(
    split: Split, results: Sequence[LogPartition], budget: Budget
) -> LogPartition:
    """Return log Z of the whole.

    Σ over states = 2^(components) × Σ over which edges differ, and the latter factorises over
    parts: log Z = c log 2 + Σ (log Z_part - c_part log 2), a bias spin taking off log 2.
    """
    twos = num_components(split.bare) - sum(num_components(part.model) for part in split.parts)
    fixed = 0 if split.inverse is None else 1
    terms = [(twos - fixed) * LOG2, split.original.offset]
    value, lower, upper = (
        math.fsum([*terms, *(getattr(result, end) for result in results)])
        for end in ("value", "lower", "upper")
    )
    # Sums are rounded once, log 2 and its multiple too, and so are the ends below.
    slack = 2 * EPSILON * (max(abs(value), abs(lower), abs(upper)) + abs(terms[0]))
    return LogPartition.between(
        lower - slack,
        upper + slack,
        value=value,
        num_variables=split.original.num_spins,
        certificate=split.certificate([result.certificate for result in results]),
        **_shared(split, results, budget),
    )


def join_marginals(
    split: Split, results: Sequence[Marginals], from_bias: FromBias, budget: Budget
) -> Marginals:
    """Return the marginals of the whole; edges of different parts are independent.

    ``from_bias`` gives correlations with the bias spin, for spins without a field of their own.
    """
    edges = np.full(split.bare.num_edges, 0.5)
    for part, result in zip(split.parts, results, strict=True):
        edges[part.edges] = np.asarray(result.edges)
    sums = [result.log_partition for result in results if result.log_partition is not None]
    bare = Marginals(
        nodes=np.full(split.bare.num_spins, 0.5),
        edges=edges,
        error=max((result.error for result in results), default=0.0),
        log_partition=(
            join_log_partitions(split, sums, budget) if len(sums) == len(results) else None
        ),
        certificate=split.certificate([result.certificate for result in results]),
        **_shared(split, results, budget),
    )
    return bare if split.inverse is None else _with_nodes(split, bare, from_bias, budget)


def _with_nodes(split: Split, bare: Marginals, from_bias: FromBias, budget: Budget) -> Marginals:
    """Remove the bias spin: P(s_v = +1) is the marginal of its edge, where there is one."""
    inverse, edges = split.inverse, np.asarray(bare.edges)
    assert inverse is not None, "only models with fields come here"
    nodes = np.full(split.original.num_spins, 0.5)
    joined = inverse.bias_edge >= 0
    nodes[joined] = edges[inverse.bias_edge[joined]]
    unknown = ~joined & ~inverse.symmetric
    if unknown.any():
        found, error = from_bias(split, budget)
        nodes[unknown] = (1.0 + found[:-1][unknown]) / 2
        bare = replace(bare, error=max(bare.error, error), proved=False)
    edges = edges[: split.original.num_edges]
    return replace(bare, nodes=nodes, edges=edges, seconds=budget.seconds())


def join_samples(
    split: Split, states: Sequence[Array], size: int, rng: np.random.Generator
) -> Int8Array:
    """Return samples of the whole: which edges differ in every part, a sign per component."""
    differ = np.zeros((size, split.bare.num_edges), dtype=bool)
    for part, found in zip(split.parts, states, strict=True):
        u, v = part.model.edges.T
        differ[:, part.edges] = found[:, u] != found[:, v]
    spins = np.empty((size, split.original.num_spins), dtype=np.int8)
    component = split.components()
    for row, marks in zip(spins, differ, strict=True):
        row[:] = split.join_spins(marks)
    signs = 1 - 2 * rng.integers(0, 2, (size, int(component.max(initial=-1)) + 1), dtype=np.int8)
    if split.inverse is not None:
        signs[:, component[-1]] = 1  # held by the bias spin
        component = component[:-1]
    return spins * signs[:, component]


def _shared(split: Split, results: Results, budget: Budget) -> dict[str, Any]:
    parts: list[Stats] = [
        {**part.describe(), "method": result.method, "exact": result.exact, **result.stats}
        for part, result in zip(split.parts, results, strict=True)
    ]
    return {
        "method": "+".join(sorted({result.method for result in results})) or "planar",
        "proved": all(result.proved for result in results),
        "estimate": any(result.estimate for result in results),
        "seconds": budget.seconds(),
        "stats": {"parts": parts},
    }
