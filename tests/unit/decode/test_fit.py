"""Fitted probabilities against the truth, and exact gradients against differences."""

import numpy as np
import pytest
import stim

from helpers.codes import changed, class_table, repetition, surface, syndromes, uneven
from planaris.budget import Budget
from planaris.decode.fit import _Fit
from planaris.decode.model import ErrorModel, parity
from planaris.errors import ImpossibleShotError, ModelError
from planaris.interop.stim import Decoder, fit


def by_detectors(mechanisms, values):
    found = {}
    for m, p in zip(mechanisms, values, strict=True):
        found[m.detectors] = parity([found.get(m.detectors, 0.0), p])[0]
    return found


def test_one_step_moves_every_edge_to_its_expected_share():
    dem = uneven(repetition(3, 3, 0.05), np.random.default_rng(1))
    detectors, table = class_table(dem)
    numbers = np.array([0, 1, 5, 9, 30, 77, 200])
    shots = syndromes(dem, detectors, numbers)
    packed = np.packbits(shots, axis=1, bitorder="little")
    search = _Fit(ErrorModel.from_stim(dem), packed, Budget(threads=1))
    _, step = search._evaluate(search.coset.graph.probability)
    for e, sources in enumerate(search.coset.graph.sources):
        # P(edge | syndrome) = p P(rest has the flipped syndrome) / P(syndrome), by enumeration.
        rest = changed(dem, lambda k, p, s=sources: 0.0 if k in s else p)
        _, without = class_table(rest)
        flip = sum(1 << detectors.index(d) for d in search.model.mechanisms[sources[0]].detectors)
        p = search.coset.graph.probability[e]
        expected = p * without.sum(0)[numbers ^ flip] / table.sum(0)[numbers]
        assert step[e] == pytest.approx(expected.mean(), abs=1e-12)


def test_likelihood_is_that_of_the_decoder():
    dem = uneven(surface(3, 0.1), np.random.default_rng(2))
    shots, _, _ = dem.compile_sampler(seed=5).sample(500)
    packed = np.packbits(shots, axis=1, bitorder="little")
    search = _Fit(ErrorModel.from_stim(dem), packed, Budget(threads=1))
    value, _ = search._evaluate(search.coset.graph.probability)
    assert value == pytest.approx(Decoder(dem).log_likelihood(shots).sum(), abs=1e-8)


def test_the_truth_is_found_within_its_standard_errors():
    dem = uneven(repetition(5, 5, 0.01), np.random.default_rng(2), 1 / 3, 3.0)
    shots, _, _ = dem.compile_sampler(seed=4).sample(20_000)
    start = changed(dem, lambda k, p: 0.005)
    fitted = fit(start, shots, threads=1)
    assert fitted.converged
    truth = by_detectors(
        fitted.model.mechanisms, [i.args_copy()[0] for i in dem.flattened() if i.type == "error"]
    )
    found = by_detectors(fitted.model.mechanisms, fitted.probabilities)
    errors = {
        m.detectors: s for m, s in zip(fitted.model.mechanisms, fitted.standard_errors, strict=True)
    }
    z = np.array([(found[k] - truth[k]) / errors[k] for k in truth])
    assert len(z) == 65
    assert np.sqrt((z**2).mean()) < 1.2
    likelihoods = [Decoder(d).log_likelihood(shots).sum() for d in (fitted.dem, dem)]
    assert fitted.log_likelihood == pytest.approx(likelihoods[0], abs=1e-6)
    assert likelihoods[0] > likelihoods[1]


def test_bridges_and_packed_shots():
    dem = stim.DetectorErrorModel("error(0.2) D0 L0\nerror(0.1) D1\nerror(0.3) D1 D2")
    shots, _, _ = dem.compile_sampler(seed=1).sample(4000)
    fitted = fit(changed(dem, lambda k, p: 0.05), shots)
    again = fit(
        changed(dem, lambda k, p: 0.05),
        np.packbits(shots, axis=1, bitorder="little"),
        bit_packed=True,
    )
    assert np.array_equal(fitted.probabilities, again.probabilities)
    assert fitted.probabilities[0] == pytest.approx(shots[:, 0].mean())
    assert (np.abs(fitted.probabilities - [0.2, 0.1, 0.3]) < 4 * fitted.standard_errors).all()
    assert fitted.standard_errors[0] == pytest.approx(np.sqrt(0.2 * 0.8 / 4000), rel=0.05)


def test_what_cannot_be_fitted():
    dem = stim.DetectorErrorModel("error(0.2) D0\nerror(0.1) D1 D2")
    with pytest.raises(ModelError, match="at least one shot"):
        fit(dem, np.zeros((0, 3), dtype=bool))
    with pytest.raises(ImpossibleShotError):
        fit(dem, [[0, 1, 0]])
    with pytest.raises(ModelError, match="at most 1/2"):
        fit(stim.DetectorErrorModel("error(0.7) D0"), [[0]])


def test_the_fitted_model_is_the_stated_one_with_other_probabilities():
    text = """
        error(0.1) D0 D0
        detector(1, 2) D0
        error(0.2) D0 D1 L0 ^ D1
        shift_detectors(0, 5) 1
        error(0.1) D0
        detector(3) D4
        logical_observable L2
    """
    shots = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], dtype=bool)
    dem = stim.DetectorErrorModel(text)
    fitted = fit(dem, shots)
    assert str(changed(fitted.dem, lambda k, p: 0.5)) == str(changed(dem, lambda k, p: 0.5))
    found = [i.args_copy()[0] for i in fitted.dem.flattened() if i.type == "error"]
    assert found == fitted.probabilities.tolist()
    assert "stated" not in repr(fitted)
    assert "Mechanism" not in repr(fitted)


def test_a_probability_that_was_stated_far_too_small_is_found():
    # Two errors next to each other explain what the third does: at 1e-12 nothing is gained by it.
    text = "error(0.05) D0\nerror(0.05) D1\nerror({}) D0 D1"
    shots = stim.DetectorErrorModel(text.format(0.2)).compile_sampler(seed=1).sample(3000)[0]
    fitted = fit(stim.DetectorErrorModel(text.format(1e-12)), shots)
    assert fitted.converged
    even, odd = shots.sum(1) % 2 == 0, shots.sum(1) % 2 == 1
    assert fitted.probabilities == pytest.approx([0.05, 0.05, 0.2], abs=0.03)
    # the largest likelihood has the three free numbers of the table of syndromes
    counts = [(~shots[even]).all(1).sum(), shots[even].all(1).sum(), shots[odd, 0].sum()]
    counts.append(len(shots) - sum(counts))
    best = sum(n * np.log(n / len(shots)) for n in counts)
    assert fitted.log_likelihood == pytest.approx(best, abs=0.01)
