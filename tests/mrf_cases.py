"""Random factor graphs, and everything about the small ones by listing all states."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from planaris import MarkovRandomField


def random_mrf(
    rng: np.random.Generator, *, max_variables: int = 7, max_arity: int = 4, binary: bool = False
) -> MarkovRandomField:
    """Mixed cardinalities (one included), zeros, constants, wild scales, loose parts."""
    n = int(rng.integers(0, max_variables + 1))
    cards = np.full(n, 2) if binary else rng.integers(1, 5, n)
    factors = []
    scale = rng.choice([0.1, 1.0, 30.0, 500.0])
    for _ in range(int(rng.integers(0, 2 * n + 2))):
        arity = int(rng.integers(0, min(max_arity, n) + 1))
        scope = rng.permutation(n)[:arity]
        table = rng.normal(size=tuple(cards[scope])) * scale
        if rng.random() < 0.3:
            table = np.where(rng.random(table.shape) < 0.3, -np.inf, table)
        factors.append((scope, table))
    return MarkovRandomField(cards, factors, log=True)


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
        table = np.zeros(tuple(model.cardinalities[scope]))
        for state, p in zip(self.states, self.probabilities, strict=True):
            table[tuple(state[scope])] += p
        return table


def list_all(model: MarkovRandomField) -> Everything:
    labels = [range(k) for k in model.cardinalities]
    states = np.array(list(itertools.product(*labels)), dtype=np.int64)
    states = states.reshape(int(np.prod(model.cardinalities, initial=1)), model.num_variables)
    return Everything(model.log_weight(states), states)
