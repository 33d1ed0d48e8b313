"""Damaged files: always an answer that holds together or a PlanarisError, never anything else."""

from __future__ import annotations

import io
import math
import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.trials import examples
from planaris import IsingModel
from planaris.errors import PlanarisError
from planaris.io import read_evidence, read_map, read_mar, read_model, read_pr, read_query
from planaris.io.model_files import READERS

SEEDS: dict[str, list[bytes]] = {
    "uai": [
        b"MARKOV\n3\n2 2 3\n3\n1 0\n2 0 1\n2 1 2\n\n2\n .5 0\n4\n1 2e-3 3 4\n6\n1 1 .25 1 1 1e9\n",
        b"BAYES 2 2 2 2 1 0 2 0 1 2 .4 .6 4 .2 .8 .3 .7",
        b"MARKOV\n4\n2 2 2 2\n1\n4 3 1 0 2\n16\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        b"MARKOV 0 1 0 1 3.5",
    ],
    "uai-log": [b"MARKOV\n2\n2 3\n2\n2 1 0\n0\n6\n-1 -inf 0 1e300 -2.5e-3 7\n1\n-4\n"],
    "maxcut": [b"4 4\n1 2 1\n2 3 -1.5\n3 4 2\n1 4 1e3\n", b"3 2\n1 2\n2 3\n"],
    "edge-list": [b"# num_spins=4 offset=0.5\n0 1 1.0\n1 2 -2\n", b"a b\nb c\nc a\n"],
    "coo": [b"# vartype=SPIN\n0 0 1.5\n0 1 -1\n2 1 3\n", b"0 0 1\n0 1 2\n"],
    "qubo": [b"c hi\np qubo 0 4 2 1\n0 0 1\n3 3 -2\n0 3 1.5\n"],
    "bq": [b"3 3\n1 1 2\n1 3 -1\n2 3 4\n"],
}
RESULTS = [
    b"MAR\n2 2 .5 .5 3 .2 .3 .5\n",
    b"MAP\n3 0 1 2\n",
    b"PR\n-3.5\n",
    b"2 0 1 3 0\n",
    b"1\n1 4 2\n",
]
ODD = [
    b"-1",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"1e-999",
    b"99999999999999999999",
    b"2147483648",
    b"4294967297",
    b"1000000000",
    b"\x00",
    b"\xff\xfe",
    "½∞ ".encode(),
    b"#",
    b"//",
    b"\n",
    b" ",
    b"0x10",
    b"1e",
    b".",
    b"+",
    b"%",
    b"c",
    b"p",
    b"=",
    b"MARKOV",
    b"\x1f\x8b",
    b"PK\x03\x04",
]


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """Return a seed with one to four changes, by a generator that Hypothesis seeds."""
    rng = random.Random(draw(st.integers(0, 2**64 - 1)))
    text = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        kind = rng.choice(["cut", "flip", "insert", "delete", "copy", "token", "start"])
        if kind == "cut":
            text = text[:at]
        elif kind == "flip" and at < len(text):
            flipped = text[at] ^ (1 << rng.randint(0, 7))
            text = text[:at] + bytes([flipped]) + text[at + 1 :]
        elif kind == "insert":
            text = text[:at] + rng.choice(ODD) + text[at:]
        elif kind == "delete":
            text = text[:at] + text[at + rng.randint(1, 9) :]
        elif kind == "copy":
            start = rng.randint(0, len(text))
            text = text[:at] + text[start : start + rng.randint(0, 30)] + text[at:]
        elif kind == "token":
            words = text.split(b" ")
            words[rng.randint(0, len(words) - 1)] = rng.choice(ODD)
            text = b" ".join(words)
        elif kind == "start":
            text = rng.choice(ODD) + text
    return text


def check(model: object) -> None:
    """What was accepted holds together: every log weight is a number."""
    if isinstance(model, IsingModel):
        assert np.all(np.isfinite(model.couplings))
        states = np.ones((2, model.num_spins), dtype=np.int8)
        states[1] = -1
        assert np.all(np.isfinite(model.log_weight(states)))
        return
    weights = model.log_weight(np.zeros((1, model.num_variables), dtype=int))  # type: ignore[attr-defined]
    assert not np.any(np.isnan(weights))
    assert not np.any(weights == np.inf)


@pytest.mark.parametrize("format", SEEDS)
def test_seeds_are_valid(format: str) -> None:
    for text in SEEDS[format]:
        check(read_model(io.BytesIO(text), format=format))


@pytest.mark.parametrize("format", [name for name in READERS if name != "bqm"])
@examples(500)
@given(data=st.data())
def test_damaged_model_files(format: str, data: st.DataObject) -> None:
    text = data.draw(damaged(SEEDS[format]))
    try:
        model = read_model(io.BytesIO(text), format=format)
    except PlanarisError:
        return
    check(model)


NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def slow_uai(text: bytes) -> tuple[list[int], list[list[int]], list[float]] | None:
    """Read a UAI file word by word, by the book; None if it is not one."""
    words = re.sub(rb"#[^\n]*|(?<!\S)/[^\n]*", b" ", text.removeprefix(b"\xef\xbb\xbf")).split()
    words.reverse()

    def count() -> int:
        word = words.pop()
        if not re.fullmatch(rb"[0-9]+", word):
            raise ValueError
        return int(word)

    def number() -> float:
        word = words.pop()
        value = float(word) if NUMBER.fullmatch(word) else -1.0
        if value < 0 or np.isinf(value) or (value == 0 and re.search(rb"^[^eE]*[1-9]", word)):
            raise ValueError
        return value

    try:
        if words.pop().upper() not in (b"MARKOV", b"BAYES"):
            return None
        cards = [count() for _ in range(count())]
        scopes = [[count() for _ in range(count())] for _ in range(count())]
        values: list[float] = []
        for scope in scopes:
            size = math.prod(cards[v] for v in scope)
            if len(set(scope)) != len(scope) or count() != size:
                return None
            values += [number() for _ in range(size)]
    except (ValueError, IndexError):
        return None
    good = not words and all(0 < k < 2**31 for k in cards)
    return (cards, scopes, values) if good else None


@examples(2500)
@given(damaged(SEEDS["uai"]))
def test_damaged_uai_files_against_a_slow_reader(text: bytes) -> None:
    if text[:2] in (b"\x1f\x8b", b"PK"):
        return
    wanted = slow_uai(text)
    try:
        mrf = read_model(io.BytesIO(text), format="uai")
    except PlanarisError:
        assert wanted is None
        return
    assert wanted is not None
    cards, scopes, values = wanted
    assert mrf.cardinalities.tolist() == cards  # type: ignore[union-attr]
    assert [mrf.scope(k).tolist() for k in range(mrf.num_factors)] == scopes  # type: ignore[union-attr]
    assert mrf.linear_values.tolist() == values  # type: ignore[union-attr]


@examples(1000)
@given(damaged([text for seeds in SEEDS.values() for text in seeds]))
def test_damaged_files_of_unknown_format(text: bytes) -> None:
    try:
        model = read_model(io.BytesIO(text))
    except PlanarisError:
        return
    check(model)


@examples(500)
@given(damaged(RESULTS))
def test_damaged_results_and_evidence(text: bytes) -> None:
    for reader in (read_evidence, read_query, read_map, read_mar, read_pr):
        try:
            reader(io.BytesIO(text))
        except PlanarisError:
            continue


@examples(500)
@given(st.binary(max_size=200))
def test_noise(text: bytes) -> None:
    for format in [name for name in READERS if name != "bqm"]:
        try:
            check(read_model(io.BytesIO(text), format=format))
        except PlanarisError:
            continue
