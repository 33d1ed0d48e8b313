"""Probabilities of syndromes and classes against the sum over all errors."""

import numpy as np
import pytest
import stim

import planaris.decode.coset as coset
from helpers.codes import changed, class_table, repetition, surface, syndromes, uneven
from planaris.interop.stim import Decoder

FAMILIES = {
    "surface 3": lambda p, rng: surface(3, p),
    "surface 3 unrotated": lambda p, rng: surface(3, p, "unrotated"),
    "surface 5": lambda p, rng: surface(5, p),
    "surface 5 uneven": lambda p, rng: uneven(surface(5, p), rng),
    "repetition 3x3": lambda p, rng: repetition(3, 3, p),
    "repetition 5x3": lambda p, rng: repetition(5, 3, p),
    "repetition 5x3 uneven": lambda p, rng: uneven(repetition(5, 3, p), rng),
}


def check_every_syndrome(dem, tolerance=1e-12, most=70_000, least=1e-280):
    detectors, table = class_table(dem)
    numbers = np.flatnonzero(table.sum(0) > least)
    if len(numbers) > most:
        numbers = np.random.default_rng(5).choice(numbers, most, replace=False)
    shots = syndromes(dem, detectors, numbers)
    decoder = Decoder(dem, threads=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log(table[:, numbers].sum(0))
        ratio = np.log(table[0, numbers]) - np.log(table[1, numbers])
    assert np.abs(decoder.log_likelihood(shots) - total).max() <= tolerance
    if not dem.num_observables:
        assert decoder.decode(shots).shape == (len(shots), 0)
        return
    found = decoder.llr(shots)[:, 0]
    known = np.isfinite(ratio) & (table[:, numbers].min(0) > least)
    scale = np.maximum(1.0, np.abs(ratio[known]) / 10)
    assert (np.abs(found[known] - ratio[known]) / scale).max(initial=0.0) <= tolerance
    p = table[1, numbers] / table[:, numbers].sum(0)
    assert np.abs(decoder.posterior(shots)[:, 0] - p).max() <= tolerance
    clear = np.abs(p - 0.5) > 1e-12
    assert (decoder.decode(shots)[clear, 0] == (p[clear] > 0.5)).all()


@pytest.mark.parametrize("p", [1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_syndrome_has_its_probability(family, p):
    rng = np.random.default_rng(1)
    check_every_syndrome(FAMILIES[family](p, rng), most=4096)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1e-6, 1e-3, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_syndrome_without_exception(family, p):
    check_every_syndrome(FAMILIES[family](p, np.random.default_rng(1)))


@pytest.mark.parametrize("p", [1e-6, 1e-4, 0.02, 0.2, 0.5])
def test_sparse_elimination_agrees(p, monkeypatch):
    monkeypatch.setattr(coset, "INVERSE_BYTES", 0)
    rng = np.random.default_rng(2)
    check_every_syndrome(uneven(surface(3, p), rng))
    check_every_syndrome(uneven(repetition(3, 3, p), rng))


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 0.5, 0.7, 1.0 - 1e-6, 1.0])
@pytest.mark.parametrize("number", [0, 4, 7])
def test_one_mechanism_of_any_probability(number, p):
    for dem in (surface(3, 0.05), repetition(3, 2, 0.03)):
        check_every_syndrome(changed(dem, lambda k, q: p if k == number else q))


def test_all_mechanisms_more_likely_than_not():
    rng = np.random.default_rng(4)
    values = rng.uniform(0.4, 1.0, 200)
    check_every_syndrome(changed(repetition(3, 3, 0.01), lambda k, q: values[k]))


def test_one_in_a_billion():
    check_every_syndrome(surface(3, 1e-9))
    check_every_syndrome(repetition(3, 2, 1e-9))


def test_probabilities_whose_squares_underflow():
    p = 1e-300
    chain = f"error({p}) D0 L0\nerror({p}) D0 D1\nerror({p}) D1"
    decoder = Decoder(stim.DetectorErrorModel(chain))
    shots = [[0, 0], [1, 0], [0, 1], [1, 1]]
    ratio = np.array([-3.0, 1.0, -1.0, -1.0]) * np.log(p)
    np.testing.assert_allclose(decoder.llr(shots)[:, 0], ratio, rtol=1e-13)
    assert decoder.decode(shots).ravel().tolist() == [False, True, False, False]
    np.testing.assert_allclose(decoder.posterior(shots).ravel(), [0.0, 1.0, p, p], rtol=1e-12)
    found = decoder.log_likelihood(shots)
    np.testing.assert_allclose(found, np.array([0.0, 1.0, 1.0, 1.0]) * np.log(p), atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "error(0.1) D0 L0",  # no other class, no closed chain
        "error(0.1) D0 L0\nerror(0.2) D0",
        "error(0.1) D0 L0\nerror(0.2) D0 D1\nerror(0.3) D1",
        "error(0.1) D0 D1\nerror(0.2) D0 D1\nerror(0.3) D1 D2",  # no boundary
        "error(0.1) D0 D1 L0\nerror(0.2) D1 D2\nerror(0.1) D2 D0 L0\nerror(0.1) D0",
        "error(0.1) D0 L0\nerror(0.2) L0\nerror(0.05) L0",  # flips that nobody sees
        "error(0.1) D0 L0\nerror(0.1) D1\nerror(0.2) D2 L0\nerror(0.2) D2",  # apart
        "error(0.1) D0 D0 L0\nerror(0.25) D1 L0 L0\nerror(0.1) D1",  # named twice
        "error(0.1) D0 D1 ^ D1 L0\nerror(0.2) D0",  # decomposed, two detectors in all
        "error(0.1) D1 L0\nerror(0.1) D1\nerror(0) D0\nerror(0) D0 D1 L0",
    ],
)
@pytest.mark.parametrize("inverse", [True, False])
def test_small_models(text, inverse, monkeypatch):
    if not inverse:
        monkeypatch.setattr(coset, "INVERSE_BYTES", 0)
    check_every_syndrome(stim.DetectorErrorModel(text))


def test_nothing_at_all():
    decoder = Decoder(stim.DetectorErrorModel())
    assert decoder.decode(np.zeros((3, 0), dtype=bool)).shape == (3, 0)
    assert decoder.log_likelihood(np.zeros((3, 0), dtype=bool)).tolist() == [0.0, 0.0, 0.0]
    assert Decoder(surface(3, 0.1)).decode(np.zeros((0, 8), dtype=bool)).shape == (0, 1)


def test_repeated_blocks_are_unrolled():
    dem = stim.DetectorErrorModel("""
        error(0.1) D0 L0
        repeat 4 {
            error(0.05) D0 D1
            shift_detectors 1
        }
        error(0.2) D0
    """)
    check_every_syndrome(dem)


def test_several_observables_one_at_a_time():
    dem = stim.DetectorErrorModel("""
        error(0.1) D0 L0
        error(0.2) D0 D1
        error(0.15) D1 L1
        error(0.05) D1
    """)
    both = Decoder(dem)
    shots = [[0, 0], [1, 0], [0, 1], [1, 1]]
    for k in (0, 1):
        text = str(dem).replace(f"L{1 - k}", "").replace(f"L{k}", "L0")
        one = Decoder(stim.DetectorErrorModel(text))
        assert np.array_equal(both.llr(shots)[:, k], one.llr(shots)[:, 0])


@pytest.mark.parametrize("p", [0.01, 0.1])
def test_erased_mechanisms_count_as_one_half(p):
    rng = np.random.default_rng(6)
    for dem in (surface(3, p), uneven(repetition(3, 2, p), rng)):
        decoder = Decoder(dem, threads=1)
        for _ in range(6):
            erased = rng.random(dem.num_errors) < 0.3
            other = changed(dem, lambda k, q, e=erased: 0.5 if e[k] else q)
            detectors, table = class_table(other)
            numbers = np.flatnonzero(table.sum(0) > 1e-250)
            shots = syndromes(dem, detectors, numbers)
            marks = np.tile(erased, (len(shots), 1))
            assert (
                np.abs(
                    decoder.log_likelihood(shots, erasures=marks) - np.log(table[:, numbers].sum(0))
                ).max()
                < 1e-12
            )
            ratio = np.log(table[0, numbers]) - np.log(table[1, numbers])
            assert np.abs(decoder.llr(shots, erasures=marks)[:, 0] - ratio).max() < 1e-11
            exact = Decoder(other, method="matching")
            erasing = Decoder(dem, method="matching")
            found = erasing.minimum_weights(shots, erasures=marks)
            assert np.abs(found - exact.minimum_weights(shots)).max() < 1e-9


def test_likelihoods_of_many_mechanisms_keep_their_digits(monkeypatch):
    monkeypatch.setattr(coset, "INVERSE_BYTES", 0)
    count, p = 4000, 0.003
    lines = [f"error({p}) D{k} L0\nerror({p}) D{k}" for k in range(count)]
    decoder = Decoder(stim.DetectorErrorModel("\n".join(lines)), threads=1)
    found = decoder.log_likelihood(np.zeros((2, count), dtype=bool))
    assert np.abs(found - count * np.log1p(-2 * p * (1 - p))).max() < 1e-10


@pytest.mark.parametrize("bytes_", [0, coset.INVERSE_BYTES])
@pytest.mark.parametrize("threads", [1, 3])
def test_posteriors_of_many_errors_and_erasures(bytes_, threads, monkeypatch):
    """By sparse elimination in lanes alone, and beside small Pfaffians."""
    monkeypatch.setattr(coset, "INVERSE_BYTES", bytes_)
    rng = np.random.default_rng(8)
    for dem in (uneven(surface(5, 0.2), rng), uneven(repetition(5, 3, 0.15), rng)):
        detectors, table = class_table(dem)
        numbers = rng.choice(table.shape[1], 150)
        shots = syndromes(dem, detectors, numbers)
        decoder = Decoder(dem, threads=threads)
        p = table[1] / table.sum(0)
        assert np.abs(decoder.posterior(shots)[:, 0] - p[numbers]).max() <= 1e-12
        for k in rng.choice(150, 4, replace=False):
            erased = rng.random((1, dem.num_errors)) < 0.3
            other = changed(dem, lambda k, q, e=erased: 0.5 if e[0, k] else q)
            here = class_table(other)[1][:, numbers[k]]
            found = decoder.posterior(shots[k : k + 1], erasures=erased)[0, 0]
            assert abs(found - here[1] / here.sum()) <= 1e-12


@pytest.mark.parametrize("make", [lambda: surface(15, 0.09), lambda: repetition(21, 60, 0.01)])
def test_bits_do_not_depend_on_how_shots_are_batched(make, monkeypatch):
    """Wide and narrow lanes, one shot after the other, fronts of several panels."""
    monkeypatch.setattr(coset, "INVERSE_BYTES", 0)
    dem = make()
    shots, _, _ = dem.compile_sampler(seed=5).sample(33)
    whole = Decoder(dem, threads=1).posterior(shots)
    for size in (1, 2, 3, 4, 5, 6, 8, 9, 19):
        decoder = Decoder(dem, threads=2 if size == 9 else 1)
        found = [decoder.posterior(shots[k : k + size]) for k in range(0, len(shots), size)]
        assert np.array_equal(np.concatenate(found), whole)
