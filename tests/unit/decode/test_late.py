"""Decoders whose time is over."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.clocks import StepClock
from planaris.budget import UNLIMITED, Budget, use_clock
from planaris.decode import coset
from planaris.decode.coset import CosetModel
from planaris.decode.decoder import PlanarDecoder
from planaris.decode.model import ErrorModel, Mechanism
from planaris.decode.shots import distinct_rows
from planaris.errors import TimeLimitError
from planaris.kernels.decoding import NO_ERASURES


def code(side: int) -> ErrorModel:
    """Return a surface code's detectors on a square, the logical chain from left to right."""
    mechanisms = []
    for x in range(side):
        for y in range(side):
            here = x * side + y
            if y + 1 < side:
                mechanisms.append(Mechanism(0.1, (here, here + 1), ()))
            if x + 1 < side:
                mechanisms.append(Mechanism(0.08, (here, here + side), ()))
            if y == 0:
                mechanisms.append(Mechanism(0.1, (here,), (0,)))
            if y + 1 == side:
                mechanisms.append(Mechanism(0.1, (here,), ()))
    return ErrorModel(tuple(mechanisms), side * side, 1)


def some_shots(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.random((count, 16)) < 0.2


def sums(shots: np.ndarray, budget: Budget = UNLIMITED) -> np.ndarray:
    packed = np.packbits(shots, axis=1, bitorder="little")
    found = CosetModel(code(4), 0)._eliminate(packed, NO_ERASURES, budget)
    return np.column_stack([found.log_ratio, found.log_probability])


def test_syndromes_written_in_parts_have_the_same_sums(rng, monkeypatch):
    shots = some_shots(rng, 23)
    whole = sums(shots)
    monkeypatch.setattr(coset, "WRITTEN", 1)
    monkeypatch.setattr(coset, "SUMMED", 1)
    monkeypatch.setattr(coset, "ROWS_PER_THREAD", 5)
    assert np.array_equal(sums(shots, Budget(threads=1)), whole)


def test_the_clock_is_looked_at_while_syndromes_are_written(rng, monkeypatch):
    shots, looks = some_shots(rng, 60), []
    for written in (2**18, 1):
        monkeypatch.setattr(coset, "WRITTEN", written)
        with use_clock(StepClock(10**9)) as clock:
            sums(shots, Budget(1.0))
        looks.append(clock.looks)
    assert looks[1] >= looks[0] + 2 * 19  # both classes, parts of three


@pytest.mark.parametrize("what", ["llr", "log_likelihood"])
def test_a_late_sum_is_no_lack_of_precision(rng, what, monkeypatch):
    monkeypatch.setattr(coset, "INVERSE_BYTES", 0)
    shots, late = some_shots(rng, 9), 0
    for n in range(1, 2000):
        decoder = PlanarDecoder(code(4))
        with use_clock(StepClock(n)) as clock:
            try:
                getattr(decoder, what)(shots, time_limit=1.0)
            except TimeLimitError:
                late += 1
        if clock.looks <= n:
            break
    assert late > 10


@pytest.mark.parametrize("width", [0, 1, 8, 19])
@pytest.mark.parametrize("count", [1, 2, 300])
def test_distinct_rows_are_those_of_numpy(rng, width, count):
    rows = rng.integers(0, 2 if width > 1 else 256, (count, width), dtype=np.uint8) * 255
    with use_clock(StepClock(10**9)) as clock:
        found, counts = distinct_rows(rows, Budget(1.0))
    known, known_counts = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(found, known)
    assert np.array_equal(counts, known_counts)
    assert clock.looks >= 1 + -(-width // 8)


def test_matching_looks_at_the_clock_between_shots(rng):
    decoder = PlanarDecoder(code(4), method="matching")
    with use_clock(StepClock(10**9)) as clock:
        decoder.decode(some_shots(rng, 64), time_limit=1.0)
    assert clock.looks >= 64 // 8
