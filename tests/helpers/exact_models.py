"""Random small models of numbers of all sizes, with rational energies and log Z as a ball."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np

from planaris import IsingModel, MarkovRandomField

PRECISION = 400


def random_numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return numbers of one scale, of many, with a few huge ones, or with ties nearly split."""
    kind = rng.integers(8)
    x = rng.normal(size=count)
    signs = rng.choice([-1.0, 1.0], count)
    if kind == 0:
        return x
    if kind == 1:
        return x * 10.0 ** rng.integers(-300, 18)
    if kind == 2:
        return signs * 10.0 ** rng.uniform(-20, 18, count)
    if kind == 3:
        x[rng.integers(count)] *= 10.0 ** rng.integers(8, 19)
        return x
    if kind == 4:
        return np.round(3 * x)
    if kind == 5:
        return signs * rng.uniform(20, 60, count)
    if kind == 6:
        huge = rng.permutation(count)[: rng.integers(1, count + 1)]
        x[huge] += signs[huge] * 10.0 ** rng.integers(8, 19)
        return x
    return np.round(x) + rng.choice([0.0, 1e-12], count)


def random_ising(rng: np.random.Generator) -> IsingModel:
    """Return a model of two to five spins."""
    n = int(rng.integers(2, 6))
    edges = [(u, v) for u in range(n) for v in range(u) if rng.random() < 0.8]
    m = len(edges)
    x = random_numbers(rng, m + n + 1)
    if rng.random() < 0.2:
        x[:m] = np.abs(x[:m])
    fields = x[m : m + n] * (rng.random(n) < rng.choice([0.0, 0.5, 1.0]))
    offset = x[-1] if rng.random() < 0.3 else 0.0
    return IsingModel(edges, x[:m], fields, offset=offset, num_spins=n)


def random_mrf(rng: np.random.Generator) -> MarkovRandomField:
    """Return a model of two to four variables, factors of up to three, some with zeros."""
    n = int(rng.integers(2, 5))
    cards = np.full(n, 2) if rng.random() < 0.5 else rng.integers(1, 4, n)
    largest = min(2 if rng.random() < 0.6 else 3, n)
    smallest = 0 if rng.random() < 0.3 else 1
    scopes = [
        rng.choice(n, int(rng.integers(smallest, largest + 1)), replace=False).tolist()
        for _ in range(int(rng.integers(1, 7)))
    ]
    sizes = [int(np.prod(cards[scope])) for scope in scopes]
    x = random_numbers(rng, sum(sizes))
    if rng.random() < 0.15:
        x[rng.random(len(x)) < 0.1] = -np.inf
    factors = list(zip(scopes, np.split(x, np.cumsum(sizes)[:-1]), strict=True))
    if rng.random() < 0.25:
        factors = [part for factor in factors for part in split_factor(rng, *factor)]
    return MarkovRandomField(cards, factors, log=True)


def split_factor(rng: np.random.Generator, scope: list[int], table: np.ndarray) -> list[Any]:
    """Return a factor beside two others that cancel, and are much larger."""
    large = np.round(3 * rng.normal(size=table.shape)) * 10.0 ** rng.integers(8, 18)
    parts = [(scope, large), (scope, table), (scope, -large)]
    return [parts[k] for k in rng.permutation(3)]


def random_model(seed: int) -> IsingModel | MarkovRandomField:
    """Return a model that allows some state."""
    rng = np.random.default_rng(seed)
    model = random_ising(rng) if seed % 2 else random_mrf(rng)
    return model if rational_logs(model) else random_model(seed + 10**6)


def rational_log(model: IsingModel | MarkovRandomField, state: Any) -> Fraction | None:
    """Return the log weight of a state; None if its weight is zero."""
    if isinstance(model, IsingModel):
        terms = [Fraction(model.offset)]
        for (u, v), j in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
            terms.append(Fraction(j) * int(state[u]) * int(state[v]))
        terms += [Fraction(h) * int(s) for h, s in zip(model.fields.tolist(), state, strict=True)]
        return sum(terms, Fraction(0))
    logs = []
    for k in range(model.num_factors):
        at = tuple(int(state[v]) for v in model.scope(k))
        logs.append(float(model.log_table(k)[at]))
    return None if -np.inf in logs else sum(map(Fraction, logs), Fraction(0))


def rational_logs(model: IsingModel | MarkovRandomField) -> list[Fraction]:
    """Return the log weights of all states of positive weight."""
    if isinstance(model, IsingModel):
        states = product((-1, 1), repeat=model.num_spins)
    else:
        states = product(*(range(card) for card in model.cardinalities.tolist()))
    logs = [rational_log(model, state) for state in states]
    return [log for log in logs if log is not None]


def ball_log_partition(logs: list[Fraction]) -> Any:
    """Return log Z as a ball."""
    flint.ctx.prec = PRECISION
    best = max(logs)
    total = sum(
        (flint.arb(flint.fmpq((x - best).numerator, (x - best).denominator)).exp() for x in logs),
        flint.arb(0),
    )
    return flint.arb(flint.fmpq(best.numerator, best.denominator)) + total.log()


def nearest(exact: Fraction) -> float:
    """Return the double nearest to a rational."""
    return exact.numerator / exact.denominator  # correctly rounded by CPython
