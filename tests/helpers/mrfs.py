"""Random factor graphs, and everything about the small ones by listing all states."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from planaris import MarkovRandomField


def random_mrf(
    rng: np.random.Generator,
    *,
    num_variables: int = 5,
    num_factors: int = 6,
    min_labels: int = 1,
    max_labels: int = 3,
    min_arity: int = 0,
    max_arity: int = 4,
    scale: float = 1.0,
    zeros: float = 0.0,
    log: bool = False,
) -> MarkovRandomField:
    """Random scopes, empty and repeated ones included; normal logarithms, some of them -inf."""
    cards = rng.integers(min_labels, max_labels + 1, num_variables)
    factors = []
    for _ in range(num_factors):
        least = min(min_arity, num_variables)
        arity = int(rng.integers(least, min(max_arity, num_variables) + 1))
        scope = rng.permutation(num_variables)[:arity]
        logs = scale * rng.normal(size=cards[scope])
        logs = np.where(rng.random(logs.shape) < zeros, -np.inf, logs)
        factors.append((scope, logs if log else np.exp(logs)))
    return MarkovRandomField(cards, factors, log=log)


def any_mrf(
    rng: np.random.Generator, *, max_variables: int = 7, max_arity: int = 4, binary: bool = False
) -> MarkovRandomField:
    """Mixed cardinalities (one included), zeros, constants, wild scales, loose parts."""
    n = int(rng.integers(0, max_variables + 1))
    return random_mrf(
        rng,
        num_variables=n,
        num_factors=int(rng.integers(0, 2 * n + 2)),
        min_labels=2 if binary else 1,
        max_labels=2 if binary else 4,
        max_arity=max_arity,
        scale=float(rng.choice([0.1, 1.0, 30.0, 500.0])),
        zeros=float(rng.choice([0.0, 0.1, 0.3])),
        log=True,
    )


def random_pairwise_mrf(
    rng: np.random.Generator,
    *,
    max_variables: int = 6,
    max_labels: int = 4,
    zeros: float = 0.0,
    triple: bool = False,
) -> MarkovRandomField:
    """Most pairs, most single variables, one constant, some tables with ties; `triple` adds one."""
    n = int(rng.integers(1, max_variables + 1))
    cards = rng.integers(1, max_labels + 1, n)
    scale = float(rng.choice([0.3, 1.0, 4.0]))
    scopes = [(v,) for v in range(n) if rng.random() < 0.8]
    scopes += [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.75]
    if triple and n >= 3:
        scopes.append(tuple(rng.permutation(n)[:3].tolist()))
    factors: list[tuple[tuple[int, ...], np.ndarray]] = [((), np.array(np.log(2.0)))]
    for scope in scopes:
        order = tuple(rng.permutation(scope).tolist())
        table = scale * rng.normal(size=cards[list(order)])
        if rng.random() < 0.3:
            table = np.rint(table)  # ties
        factors.append((order, np.where(rng.random(table.shape) < zeros, -np.inf, table)))
    return MarkovRandomField(cards, factors, log=True)


def random_tables(
    rng: np.random.Generator,
    cards: Sequence[int],
    pairs: Iterable[tuple[int, int]],
    scale: float = 1.0,
) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Normal logarithms for every variable and for these pairs, as factors."""
    factors: list[tuple[tuple[int, ...], np.ndarray]] = [
        ((v,), rng.normal(size=k)) for v, k in enumerate(cards)
    ]
    factors += [((u, v), scale * rng.normal(size=(cards[u], cards[v]))) for u, v in pairs]
    return factors


@st.composite
def mrfs(draw: st.DrawFn, **fixed: object) -> MarkovRandomField:
    options: dict[str, object] = {
        "num_variables": draw(st.integers(0, 6)),
        "num_factors": draw(st.integers(0, 8)),
        "max_labels": draw(st.integers(1, 4)),
        "max_arity": draw(st.integers(0, 4)),
        "zeros": draw(st.sampled_from([0.0, 0.2, 0.6])),
        "log": draw(st.booleans()),
    }
    options.update(fixed)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_mrf(rng, **options)  # type: ignore[arg-type]


@dataclass
class Everything:
    log_weights: np.ndarray
    states: np.ndarray

    @property
    def best(self) -> float:
        return float(self.log_weights.max())

    @property
    def probabilities(self) -> np.ndarray:
        weights = np.exp(self.log_weights - self.best)
        return weights / weights.sum()

    @property
    def log_partition(self) -> float:
        if self.best == -np.inf:
            return -np.inf
        return self.best + float(np.log(np.exp(self.log_weights - self.best).sum()))

    def log_weight(self, model: MarkovRandomField, state: np.ndarray) -> float:
        """Of one state, as listed: summing it again alone may round differently."""
        at = np.ravel_multi_index(tuple(state), tuple(model.cardinalities)) if len(state) else 0
        return float(self.log_weights[at])

    def table(self, model: MarkovRandomField, scope: np.ndarray) -> np.ndarray:
        """Marginal of the variables in `scope`."""
        shape = tuple(model.cardinalities[scope])
        entries = np.ravel_multi_index(tuple(self.states[:, scope].T), shape) if len(scope) else 0
        at = np.broadcast_to(entries, len(self.states))
        return np.bincount(at, self.probabilities, int(np.prod(shape))).reshape(shape)


def list_all(model: MarkovRandomField) -> Everything:
    labels = [range(k) for k in model.cardinalities]
    states = np.array(list(itertools.product(*labels)), dtype=np.int64)
    states = states.reshape(int(np.prod(model.cardinalities, initial=1)), model.num_variables)
    return Everything(model.log_weight(states), states)
