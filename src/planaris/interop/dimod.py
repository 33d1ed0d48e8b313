"""dimod samplers: proved ground states and exact Boltzmann samples of quadratic models."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from numbers import Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from planaris.budget import Budget
from planaris.errors import MethodError, ModelError, NotPlanarError, TooLargeError, missing_extra
from planaris.infer import ground_state, log_partition, marginals, sample
from planaris.infer.domain_wall import most_above
from planaris.models import IsingModel
from planaris.models.base import energy_tolerance, sum_below
from planaris.reductions.parts import split_model
from planaris.relax.cut_form import energy_quantum
from planaris.result import GroundState
from planaris.typing import Array, FloatArray, Int8Array

try:
    import dimod
except ImportError as error:
    raise missing_extra(package="dimod", extra="dimod") from error

__all__ = ["AutoSampler", "PlanarSampler"]

Positions = Mapping[Hashable, tuple[float, float]]

EPSILON = float(np.finfo(np.float64).eps)

MOST_SHOWN = 9
"""Interactions that a message lists."""

NEGLIGIBLE = 1e-9
"""How far log weights may be off in a distribution whose samples count as exact."""


class _ExactSampler(dimod.Sampler):  # type: ignore[name-defined,misc]
    """What both samplers share: dimod's words on the outside, the four verbs inside."""

    method: str

    def _sample(
        self,
        bqm: Any,
        pos: Positions | None,
        num_reads: int | None,
        beta: float | None,
        seed: int | None,
        with_marginals: bool,
        limits: dict[str, Any],
    ) -> Any:
        started = perf_counter()
        reads = _as_count(num_reads)
        if with_marginals and beta is None:
            msg = "`marginals` are those of samples at an inverse temperature: give `beta` too"
            raise ModelError(msg)
        limits = {**limits, "time_limit": Budget.of(limits.get("time_limit"))}  # one for all
        model, lost = _as_model(bqm, pos, _as_beta(beta))
        if beta is None:
            found = ground_state(model, self.method, **limits)
            states = _turned(bqm, model, found.spins)[None]
            counts = [reads]
            exact = found.exact and (
                lost.of_states == 0 or found.gap + 2.0 * lost.of_states <= _tolerance(bqm)
            )
            info = {"exact": exact, "method": found.method}
            info["lower_bound"] = _lower_bound(bqm, model, found, states[0], lost)
        else:
            states = sample(model, reads, seed, self.method, **limits)
            counts = None
            exact = lost.of_states <= NEGLIGIBLE
            info = {"exact": exact, "method": self.method, "beta": float(beta)}
            if with_marginals:
                info |= _marginals(bqm, model, self.method, limits, lost)
        result = _sample_set(bqm, model, states, counts)
        result.info.update(info, seconds=perf_counter() - started)
        return result


class PlanarSampler(_ExactSampler):
    """Solve and sample binary quadratic models whose graph is planar.

    Linear biases count as couplings to one more variable: they are taken where the graph with
    that variable is planar still, that is where all biased variables lie on one face. Other
    models are refused with a Kuratowski subgraph as evidence.

    Examples
    --------
    >>> import dimod
    >>> triangle = dimod.BinaryQuadraticModel.from_ising(
    ...     {"a": 0.25}, {("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "a"): 1.0}, offset=10.0)
    >>> found = PlanarSampler().sample(triangle)
    >>> float(found.first.energy), int(found.first.sample["a"]), found.info["exact"]
    (8.75, -1, True)
    >>> warm = PlanarSampler().sample(triangle, num_reads=100, beta=0.5, seed=1)
    >>> len(warm), warm.vartype.name
    (100, 'SPIN')
    """

    method = "planar"

    @property
    def parameters(self) -> dict[str, Any]:
        """Names of the keyword arguments of :meth:`sample`."""
        return {"pos": [], "num_reads": [], "beta": [], "seed": [], "marginals": []}

    @property
    def properties(self) -> dict[str, Any]:
        """What the sampler takes and promises."""
        return {"description": "planar models by matching and Pfaffians", "exact": True}

    def sample(
        self,
        bqm: Any,
        pos: Positions | None = None,
        num_reads: int | None = None,
        beta: float | None = None,
        seed: int | None = None,
        marginals: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Find a ground state, or draw exact Boltzmann samples.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
            Of any vartype, with any labels.
        pos : dict, optional
            Coordinates of every variable. A drawing without crossings makes large models
            quicker; any other is ignored. It never changes an answer.
        num_reads : int, optional
            Number of samples, default one. Without ``beta`` it is the number of occurrences of
            the one ground state that is returned.
        beta : float, optional
            Inverse temperature: ``P(s) ∝ exp(-beta * energy(s))``. Default: the ground state.
        seed : int, optional
            Makes the samples reproducible.
        marginals : bool
            With ``beta``: add log Z and exact probabilities to ``info``, under the names that
            dwave-samplers' tree sampler has for them: ``log_partition_function``,
            ``variable_marginals`` (``{v: P(v = 1)}``) and ``interaction_marginals``
            (``{(u, v): {(a, b): P(u = a and v = b)}}``, u before v in ``bqm.variables``).
            ``marginals_exact`` says whether all of them are exact; ``log_partition_bounds``
            contains log Z, and no probability is off by more than ``marginals_error``.
        **kwargs
            Ignored with a warning, as dimod's samplers do.

        Returns
        -------
        dimod.SampleSet
            ``info`` holds ``exact``, ``method``, ``seconds``, and ``lower_bound`` (without
            ``beta``) or ``beta``. A ground state without fields and its mirror image are both
            right; of the two the one is returned that dwave-samplers' planar solver returns.

        Raises
        ------
        NotPlanarError
            With the offending biases as ``interactions``: pairs of labels, and single labels
            in a tuple for linear biases.
        """
        self.remove_unknown_kwargs(**kwargs)
        try:
            return self._sample(bqm, pos, num_reads, beta, seed, marginals, {})
        except NotPlanarError as refusal:
            raise _in_labels(refusal, bqm) from None


class AutoSampler(_ExactSampler):
    """Solve any binary quadratic model; say what is proved about the answer.

    ``sampleset.info`` holds ``exact``, ``lower_bound`` (no state has less energy) and
    ``method``. Samples (``beta=``) are exact; models that allow none are refused. Where samples
    are exact and marginals are not, ``marginals_exact`` and ``marginals_error`` say so.

    Examples
    --------
    >>> import dimod
    >>> k5 = dimod.BinaryQuadraticModel.from_ising(
    ...     {}, {(u, v): 1.0 for u in range(5) for v in range(u)})
    >>> found = AutoSampler().sample(k5)
    >>> float(found.first.energy), found.info["lower_bound"], found.info["exact"]
    (-2.0, -2.0, True)
    """

    method = "auto"

    @property
    def parameters(self) -> dict[str, Any]:
        """Names of the keyword arguments of :meth:`sample`."""
        names = ("pos", "num_reads", "beta", "seed", "marginals", "time_limit", "memory_limit")
        return {name: [] for name in names}

    @property
    def properties(self) -> dict[str, Any]:
        """What the sampler takes and promises."""
        return {"description": "any model by what fits its structure", "exact": False}

    def sample(
        self,
        bqm: Any,
        pos: Positions | None = None,
        num_reads: int | None = None,
        beta: float | None = None,
        seed: int | None = None,
        marginals: bool = False,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Find a state of low energy with a lower bound, or draw exact Boltzmann samples.

        Parameters
        ----------
        bqm, pos, num_reads, beta, seed, marginals, **kwargs
            As for :meth:`PlanarSampler.sample`.
        time_limit : float, optional
            Seconds; what is proved by then is returned.
        memory_limit : int, optional
            Bytes for tables.
        """
        self.remove_unknown_kwargs(**kwargs)
        limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        try:
            return self._sample(bqm, pos, num_reads, beta, seed, marginals, limits)
        except TooLargeError as refusal:
            if beta is None:
                raise
            msg = (
                "`bqm` allows no exact samples: it is neither planar nor of small treewidth "
                f"({refusal}); without `beta` its ground state is found or bounded"
            )
            raise MethodError(msg, **refusal.evidence) from refusal


# -- between dimod and the model ----------------------------------------------------------------


def _as_count(num_reads: Any) -> int:
    reads = 1 if num_reads is None else num_reads
    if not isinstance(reads, int | np.integer) or reads < 1:
        msg = f"`num_reads` must be a positive integer, got {num_reads!r}"
        raise ModelError(msg)
    return int(reads)


def _as_beta(beta: Any) -> float:
    if beta is None:
        return 1.0
    if not (isinstance(beta, Real) and 0 <= float(beta) < np.inf):
        msg = f"`beta` must be None or a finite number that is not negative, got {beta!r}"
        raise ModelError(msg)
    return float(beta)


class _Lost(NamedTuple):
    """By how much log weights of a model may differ from those of the BQM, for rounding."""

    of_states: float
    """Those of states relative to each other, in either direction from a constant."""
    of_all: float
    """That constant."""


def _as_model(bqm: Any, pos: Positions | None, beta: float) -> tuple[IsingModel, _Lost]:
    """Return the model, and by how much its energies may differ from those of the BQM.

    A model of 0/1 variables that was made from one without fields has linear biases that cancel
    against the quadratic ones, but for rounding. What is left says nothing, and would cost the
    model its planarity.
    """
    given = IsingModel.from_bqm(bqm, beta=beta)
    # Among ground states of equal energy the order of the edges decides: last ones first is
    # what returns the same state as dwave-samplers where its tests ask for one of several.
    model = IsingModel(
        given.edges[::-1],
        given.couplings[::-1],
        given.fields,
        offset=given.offset,
        labels=given.labels,
    )
    of_states = of_all = 0.0
    if bqm.vartype is dimod.BINARY:
        noise = np.abs(model.fields) <= 4 * EPSILON * _field_terms(bqm, model, beta)
        model = model.with_couplings(model.couplings, np.where(noise, 0.0, model.fields))
        of_states, of_all = _lost(bqm, model, beta)
    if math.frexp(beta)[0] != 0.5:  # products with powers of two alone are not rounded
        biases = beta * math.fsum(np.abs(_biases(bqm)).tolist())
        of_states += EPSILON / 2 * biases
        of_all += EPSILON / 2 * (biases + abs(beta * float(bqm.offset)))
    lost = _Lost(of_states, of_all)
    if pos is not None:
        model = model.with_positions(_as_positions(pos, model.labels))
    return model, lost


def _lost(bqm: Any, model: IsingModel, beta: float) -> _Lost:
    """Return by how much fields and offset of a model of 0/1 variables are off, added up.

    They are sums of biases, rounded: beside penalties of 1e17 a bias of one is lost.
    """
    place = {name: k for k, name in enumerate(model.labels)}
    fields = [[h] for h in model.fields.tolist()]
    constants = [model.offset, beta * float(bqm.offset)]
    for name, bias in bqm.iter_linear():
        fields[place[name]].append(beta * float(bias) / 2)
        constants.append(beta * float(bias) / 2)
    for a, b, bias in bqm.iter_quadratic():
        share = beta * float(bias) / 4
        fields[place[a]].append(share)
        fields[place[b]].append(share)
        constants.append(share)
    return _Lost(math.fsum(abs(math.fsum(terms)) for terms in fields), abs(math.fsum(constants)))


def _field_terms(bqm: Any, model: IsingModel, beta: float) -> FloatArray:
    """Return the sizes of the terms that were added up to every field, added up."""
    linear = beta * np.abs([float(bqm.get_linear(v)) for v in model.labels]) / 2
    both = np.repeat(np.abs(model.couplings), 2)
    return linear + np.bincount(model.edges.ravel(), both, model.num_spins)


def _tolerance(bqm: Any) -> float:
    """Return the widest interval that counts as exact, by the biases as they were given."""
    return energy_tolerance(np.abs(_biases(bqm)))


def _biases(bqm: Any) -> FloatArray:
    """Return all linear and quadratic biases."""
    biases = [bias for _, bias in bqm.iter_linear()]
    biases += [bias for _, _, bias in bqm.iter_quadratic()]
    return np.array(biases, dtype=np.float64)


def _step(model: IsingModel) -> float:
    """Return a power of two of which all energy differences are multiples.

    They are twice sums of couplings and fields, which are multiples of their last bits.
    """
    numbers = np.concatenate([model.couplings, model.fields])
    mantissas, exponents = np.frexp(numbers[numbers != 0])
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    last = np.ldexp((whole & -whole).astype(np.float64), exponents - 53)
    return 2.0 * float(last.min()) if len(last) else math.inf


def _lower_bound(
    bqm: Any, model: IsingModel, found: GroundState, spins: Int8Array, lost: _Lost
) -> float:
    """Return what no energy of the BQM is below: that of a state, less by how much it may be off.

    dimod's own energies are sums that are rounded, to either side.
    """
    above = most_above(found)
    if above < max(energy_quantum(model), _step(model)):
        above = 0.0  # no state has less energy by so little
    values = dict(zip(model.labels, _values(bqm, spins).tolist(), strict=True))
    terms = [float(bqm.offset)]
    terms += [float(bias) * values[v] for v, bias in bqm.iter_linear()]
    terms += [float(bias) * values[u] * values[v] for u, v, bias in bqm.iter_quadratic()]
    return sum_below(*terms, -above, -2.0 * lost.of_states)


def _as_positions(pos: Positions, labels: Any) -> Array:
    missing = [v for v in labels if v not in pos]
    if missing:
        msg = f"`pos` must have coordinates of every variable, got none of {missing[0]!r}"
        raise ModelError(msg, missing=missing)
    return np.array([pos[v] for v in labels], dtype=np.float64).reshape(-1, 2)


def _turned(bqm: Any, model: IsingModel, spins: Int8Array) -> Int8Array:
    """Return the state or its mirror image: the one with -1 where dwave-samplers begins."""
    begin = next(iter(bqm.iter_quadratic()), None)
    if begin is None or model.has_fields:
        return spins
    anchor = spins[model.labels.index(begin[0])]
    return spins if anchor < 0 else -spins


def _values(bqm: Any, states: Int8Array) -> Int8Array:
    """Return states in the numbers of the BQM: -1 and 1, or 0 and 1."""
    return states if bqm.vartype is dimod.SPIN else (states > 0).astype(np.int8)


def _sample_set(bqm: Any, model: IsingModel, states: Int8Array, counts: Any) -> Any:
    build: Any = dimod.SampleSet.from_samples_bqm
    values = _values(bqm, states)
    return build((values, list(model.labels)), bqm, num_occurrences=counts)


def _marginals(
    bqm: Any, model: IsingModel, method: str, limits: dict[str, Any], lost: _Lost
) -> dict[str, Any]:
    """Return log Z and marginals under the names that dwave-samplers' tree sampler has."""
    found = marginals(model, method, **limits)
    up = np.asarray(found.nodes, dtype=np.float64)
    u, v = np.sort(model.edges, axis=1).T
    both = np.clip((up[u] + up[v] + found.edges - 1.0) / 2, 0.0, np.minimum(up[u], up[v]))
    tables = np.stack([found.edges - both, up[u] - both, up[v] - both, both], axis=1).clip(0.0, 1.0)
    low = -1 if bqm.vartype is dimod.SPIN else 0
    states = ((low, low), (1, low), (low, 1), (1, 1))
    names = model.labels
    z = log_partition(model, method, **limits)
    off = lost.of_states + lost.of_all
    return {
        "log_partition_function": z.value,
        "log_partition_bounds": (sum_below(z.lower, -off), -sum_below(-z.upper, -off)),
        "marginals_exact": found.exact and z.exact and off <= NEGLIGIBLE,
        # A probability of a pair is half the sum of three others; weights that are off by a
        # factor of at most e^±x move none by more than x / 2.
        "marginals_error": min(1.5 * found.error + lost.of_states / 2, 1.0),
        "variable_marginals": dict(zip(names, up.tolist(), strict=True)),
        "interaction_marginals": {
            (names[a], names[b]): dict(zip(states, table, strict=True))
            for a, b, table in zip(u.tolist(), v.tolist(), tables.tolist(), strict=True)
        },
    }


def _in_labels(refusal: NotPlanarError, bqm: Any) -> NotPlanarError:
    """Return the refusal with its edges told by the labels of the variables."""
    model, _ = _as_model(bqm, None, 1.0)
    bare = split_model(model).bare.edges[refusal.kuratowski_edges]
    names = model.labels
    interactions = [tuple(names[v] for v in edge if v < model.num_spins) for edge in bare.tolist()]
    interactions.sort(key=len)  # what can be done about it first: linear biases
    msg = (
        f"`bqm` must be planar, with linear biases on one face only, but {len(interactions)} of "
        f"its biases form a subdivided {refusal.evidence['kind']} (see `interactions`): "
        f"{_shortened(interactions)}; AutoSampler takes any model"
    )
    return NotPlanarError(msg, interactions=interactions, **refusal.evidence)


def _shortened(interactions: list[tuple[Any, ...]]) -> str:
    shown = ", ".join(map(str, interactions[:MOST_SHOWN]))
    return shown if len(interactions) <= MOST_SHOWN else f"{shown}, …"
