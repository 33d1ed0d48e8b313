"""Exact samples of Ising grids: proposals from a proved contraction, accepted or rejected.

A proposal x is drawn with a probability q(x) that is known exactly, and log(weight(x) / q(x)) is at
most a proved number M for all x. Accepted with probability weight(x) / (q(x) e^M), the proposals
are samples of the model. That number is compared with a uniform one by intervals, whose ends are
computed with more digits as long as they disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.kernels import tensor
from planaris.kernels.tensor import ProvedGrid
from planaris.models import IsingModel
from planaris.tensor.proof import GridModel
from planaris.typing import BoolArray, FloatArray, Int8Array

EPS = float(np.finfo(np.float64).eps)

LARGEST_EXCESS = 3.0
"""Proofs that leave fewer than one in e^6 proposals are not sampled from."""

BATCH = 64
"""Most proposals that are drawn at a time."""


@dataclass(frozen=True, eq=False)
class Accepted:
    """Samples, and what it took to draw them.

    Attributes
    ----------
    states : numpy.ndarray
        One state of the model per row.
    log_weights : numpy.ndarray
        Their log weights, without the offset of the model.
    num_proposals : int
        Proposals that were drawn.
    least_rate : float
        A proved lower bound of the probability that a proposal is accepted.
    """

    states: Int8Array
    log_weights: FloatArray
    num_proposals: int
    least_rate: float


def draw_exactly(
    model: IsingModel,
    grid: GridModel,
    proof: ProvedGrid,
    count: int,
    rng: np.random.Generator,
    budget: Budget,
) -> Accepted:
    """Return exact samples of a grid, given a proof with its states."""
    excess = tensor.proposal_excess(grid.arrays, proof)
    if not excess <= LARGEST_EXCESS:
        msg = (
            "exact samples need a proved contraction, and its bound was lost: the couplings are "
            "too strong; sample without `prove`, or use another method"
        )
        raise PrecisionError(msg)
    bound = math.nextafter(proof.log_partition + excess, math.inf)
    found: list[Int8Array] = [np.zeros((0, model.num_spins), dtype=np.int8)]
    weights: list[float] = []
    drawn = 0
    with budget.required("the samples were not drawn"):
        while len(weights) < count:
            size = min(count - len(weights), BATCH)
            proposed = tensor.propose_samples(
                grid.arrays,
                proof,
                size,
                int(rng.integers(0, 2**63)),
                threads=budget.workers(),
                budget=budget,
            )
            if proposed is None:
                msg = "the probability of a proposal lost all its digits; sample without `prove`"
                raise PrecisionError(msg)
            states = grid.of_states(proposed[0])
            terms = _log_weights(model, states)
            keep = _accept_rows(terms, proposed[1], bound, rng)
            found.append(states[np.array(keep, dtype=bool)])
            weights += [math.fsum(x) for x, kept in zip(terms, keep, strict=True) if kept]
            drawn += size
    rate = math.exp(-(excess + proof.half_width))
    return Accepted(np.concatenate(found), np.array(weights), drawn, rate)


def _log_weights(model: IsingModel, states: Int8Array) -> list[list[float]]:
    """Return the log weights of states as unevaluated sums, without the offset."""
    spins = states.astype(np.float64)
    u, v = model.edges.T
    pairs, fields = model.couplings * spins[:, u] * spins[:, v], model.fields * spins
    terms: list[list[float]] = np.concatenate([pairs, fields], axis=1).tolist()
    return terms


def accepts(
    log_weight: list[float],
    choices: FloatArray,
    bound: float,
    rng: np.random.Generator,
) -> bool:
    """Return True with probability weight / (q e^bound), q the product of the choices.

    Parameters
    ----------
    log_weight : list of float
        Numbers whose sum is the log weight.
    choices : numpy.ndarray
        A choice that had probability p as p, one that had probability 1 - p as -p.
    bound : float
        Upper bound of log(weight / q).
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> half = np.array([0.5])
    >>> sum(accepts([-2.0], half, 0.0, rng) for _ in range(1000))  # e^-2 / .5 = .271
    263
    """
    return _accept_rows([log_weight], choices[None], bound, rng)[0]


def _accept_rows(
    log_weights: list[list[float]], choices: FloatArray, bound: float, rng: np.random.Generator
) -> list[bool]:
    """Decide as :func:`accepts` for each of several proposals."""
    taken: BoolArray = choices > 0
    logs = np.where(taken, np.log(np.abs(choices)), np.log1p(np.minimum(choices, 0.0)))
    sizes: list[float] = np.abs(logs).sum(axis=1).tolist()
    rows = zip(log_weights, choices, logs.tolist(), sizes, strict=True)
    return [_accept(weight, row, terms, size, bound, rng) for weight, row, terms, size in rows]


def _accept(
    log_weight: list[float],
    choices: FloatArray,
    logs: list[float],
    size: float,
    bound: float,
    rng: np.random.Generator,
) -> bool:
    """Decide about one proposal, given the logarithms of its choices and the sum of their sizes."""
    proposal = math.fsum(logs)
    value = math.fsum([*log_weight, -proposal, -bound])  # rounded once
    error = EPS * (8 * size + abs(proposal) + abs(value))
    bits, digits = 53, 40
    uniform = int(rng.integers(0, 2**bits))
    low, high = value - error, value + error
    least = math.log(uniform) - bits * math.log(2) if uniform else -math.inf
    most = math.log(uniform + 1) - bits * math.log(2)
    if most + 1e-14 * bits < low or least - 1e-14 * bits > high:
        return most < low
    while True:  # once in about 1 / error draws
        bits, uniform = bits + 64, (uniform << 64) + int(rng.integers(0, 2**64, dtype=np.uint64))
        answer = _decide(log_weight, choices, bound, uniform, bits, digits)
        if answer is not None:
            return answer
        digits += 30


def _decide(
    log_weight: list[float],
    choices: FloatArray,
    bound: float,
    uniform: int,
    bits: int,
    digits: int,
) -> bool | None:
    """Return whether the numbers in [uniform, uniform + 1] / 2^bits are all small enough.

    None: that depends on digits that are not there yet.
    """
    with localcontext() as context:
        context.prec = digits
        one = Decimal(1)
        logs = [Decimal(p).ln() if p > 0 else (one + Decimal(p)).ln() for p in choices.tolist()]
        exact = sum(map(Fraction, log_weight), -Fraction(bound))
        value = Decimal(exact.numerator) / Decimal(exact.denominator) - sum(logs)
        scale = Decimal(2).ln() * bits
        # Every operation is rounded once; all numbers are below the sum of their sizes.
        size = sum(map(abs, logs), one) + abs(value) + scale
        error = size * (4 * len(logs) + 64) * Decimal(10) ** (1 - digits)
        if Decimal(uniform + 1).ln() - scale < value - error:
            return True
        if uniform > 0 and Decimal(uniform).ln() - scale > value + error:
            return False
    return None
