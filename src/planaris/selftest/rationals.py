"""What is true of a small model: brute force over all states, in rational numbers.

Energies are sums of :class:`fractions.Fraction`; log Z and probabilities are decimals of 60 digits.
No code is shared with solvers or with :mod:`planaris.verify`; models are read through their arrays.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

from planaris.models import IsingModel, MarkovRandomField

DIGITS = 60
"""Digits of logarithms and probabilities."""

State = tuple[int, ...]


@dataclass(frozen=True)
class Factor:
    """Log potentials by the labels of some variables; None where the weight is zero."""

    scope: tuple[int, ...]
    table: dict[State, Fraction | None]


class Truth:
    """All states of a model with their energies, and what follows.

    Examples
    --------
    >>> truth = Truth(IsingModel([(0, 1)], [2.0], fields=[1.0, 0.0]))
    >>> truth.minimum, round(truth.log_partition, 6)
    (Fraction(-3, 1), Decimal('3.145078'))
    """

    def __init__(self, model: IsingModel | MarkovRandomField, *, planar: bool = True) -> None:
        self.planar = planar  # known of the few models that are asked about it
        self.is_ising = isinstance(model, IsingModel)
        if isinstance(model, IsingModel):
            self.cards = [2] * model.num_spins
            self.factors = _spin_factors(model)
        else:
            self.cards = model.cardinalities.tolist()
            self.factors = [_table_factor(model, k) for k in range(model.num_factors)]

    @cached_property
    def energies(self) -> dict[State, Fraction | None]:
        """The energy of every state; None where its weight is zero."""
        return {state: self.energy(state) for state in itertools.product(*map(range, self.cards))}

    def terms(self, state: State) -> list[Fraction | None]:
        """Return what the factors add to the energy of a state."""
        logs = [factor.table[tuple(state[v] for v in factor.scope)] for factor in self.factors]
        return [None if log is None else -log for log in logs]

    def energy(self, state: State) -> Fraction | None:
        """Return minus the log weight of a state."""
        terms = self.terms(state)
        known = [term for term in terms if term is not None]
        return sum(known, Fraction(0)) if len(known) == len(terms) else None

    @cached_property
    def minimum(self) -> Fraction | None:
        """The least energy; None if no state is allowed."""
        return min((e for e in self.energies.values() if e is not None), default=None)

    @cached_property
    def weights(self) -> dict[State, Decimal]:
        """Weights of the states, the largest of which is 1."""
        with localcontext(_context()):
            return {
                state: Decimal(0)
                if energy is None or self.minimum is None
                else _decimal(self.minimum - energy).exp()
                for state, energy in self.energies.items()
            }

    @cached_property
    def log_partition(self) -> Decimal:
        """The logarithm of the sum of all weights."""
        if self.minimum is None:
            return Decimal("-Infinity")
        with localcontext(_context()):
            return sum(self.weights.values(), Decimal(0)).ln() - _decimal(self.minimum)

    def marginal(self, scope: tuple[int, ...]) -> dict[State, Decimal]:
        """Return the probabilities of the labels of some variables."""
        with localcontext(_context()):
            total = sum(self.weights.values(), Decimal(0))
            labels = itertools.product(*(range(self.cards[v]) for v in scope))
            found = dict.fromkeys(labels, Decimal(0))
            for state, weight in self.weights.items():
                found[tuple(state[v] for v in scope)] += weight / total
        return found

    @cached_property
    def energy_tolerance(self) -> Fraction:
        """The widest interval around the minimum that counts as exact (docs/conventions.md)."""
        sizes = sorted(size for factor in self.factors if (size := self._size(factor)) > 0)
        if not sizes:
            return Fraction(0)
        middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
        scale = min(middle, max(Fraction(1), sizes[0]))
        return sum((min(size, scale) for size in sizes), Fraction(0)) / 10**10

    def _size(self, factor: Factor) -> Fraction:
        """Return |J| or |h|, or the range of a table."""
        known = [log for log in factor.table.values() if log is not None]
        span = max(known) - min(known) if known else Fraction(0)
        return span / 2 if self.is_ising else span


def as_fraction(value: Any) -> Fraction | float:
    """Return a number of a file exactly; infinite ones as they are."""
    number = float(value) if isinstance(value, str) else value
    return number if isinstance(number, float) and not math.isfinite(number) else Fraction(number)


def _context() -> Context:
    return Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _spin_factors(model: IsingModel) -> list[Factor]:
    factors: list[Factor] = []
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        same = Fraction(coupling)
        table: dict[State, Fraction | None] = {(0, 0): same, (0, 1): -same}
        factors.append(Factor((u, v), {**table, (1, 0): -same, (1, 1): same}))
    fields = enumerate(model.fields.tolist())
    factors += [Factor((v,), {(0,): -Fraction(h), (1,): Fraction(h)}) for v, h in fields]
    return [*factors, Factor((), {(): Fraction(model.offset)})]


def _table_factor(model: MarkovRandomField, k: int) -> Factor:
    scope = tuple(model.scope(k).tolist())
    labels = itertools.product(*(range(int(model.cardinalities[v])) for v in scope))
    first, last = int(model.table_offsets[k]), int(model.table_offsets[k + 1])
    logs = model.log_values[first:last].tolist()
    values = [None if log == -math.inf else Fraction(log) for log in logs]
    return Factor(scope, dict(zip(labels, values, strict=True)))
