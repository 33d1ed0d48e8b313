"""Reading UAI files: bytes a second, against splitting into words and NumPy's text reader."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

from planaris import MarkovRandomField
from planaris.io import read_uai, write_uai

LABELS, FACTORS, VARIABLES = 40, 1000, 100


@pytest.fixture(scope="module", params=[6, 17], ids=["6-digits", "17-digits"])
def text(request: pytest.FixtureRequest) -> bytes:
    rng = np.random.default_rng(0)
    scopes = np.array([rng.choice(VARIABLES, 2, replace=False) for _ in range(FACTORS)])
    size = LABELS * LABELS
    values = rng.random(FACTORS * size)
    mrf = MarkovRandomField.from_arrays(
        np.full(VARIABLES, LABELS),
        scopes.ravel(),
        2 * np.arange(FACTORS + 1),
        np.round(values, 6) if request.param == 6 else values,
        size * np.arange(FACTORS + 1),
    )
    stream = io.StringIO()
    write_uai(mrf, stream)
    return stream.getvalue().encode()


def python_words(text: bytes) -> np.ndarray:
    return np.array([float(word) for word in text.split()[1:]])


def numpy_loadtxt(text: bytes) -> np.ndarray:
    return np.loadtxt(io.BytesIO(b"\n".join(text.split()[1:])))


@pytest.mark.parametrize("reader", [read_uai, python_words, numpy_loadtxt])
def test_read(benchmark, text: bytes, reader) -> None:
    if reader is read_uai:
        mrf = benchmark(lambda: read_uai(io.BytesIO(text)))
        assert mrf.linear_values[-1] == float(text.split()[-1])
    else:
        numbers = benchmark.pedantic(reader, args=(text,), rounds=1)
        assert numbers[-1] == float(text.split()[-1])
    if benchmark.stats:
        print(f"\n{reader.__name__}: {len(text) / 1e6 / benchmark.stats['min']:.0f} MB/s")


def test_ratio(text: bytes) -> None:
    times = {}
    for reader in (lambda t: read_uai(io.BytesIO(t)), python_words):
        begin = time.perf_counter()
        reader(text)
        times[reader] = time.perf_counter() - begin
    ours, theirs = times.values()
    print(f"\n{theirs / ours:.1f} times as fast as splitting into words")
    assert ours > 0
