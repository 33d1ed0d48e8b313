"""Mechanisms without detectors, certain ones, duplicates, erased ones that never happen."""

from __future__ import annotations

import math

import numpy as np
import pytest

stim = pytest.importorskip("stim")

from planaris.errors import ImpossibleShotError, ModelError  # noqa: E402
from planaris.interop.stim import Decoder  # noqa: E402


def decoder(*lines: str, method: str = "ml") -> Decoder:
    return Decoder(stim.DetectorErrorModel("\n".join(lines)), method=method)  # type: ignore[arg-type]


def test_certain_and_rare_mechanisms_side_by_side_keep_their_odds() -> None:
    alone = decoder("error(1) L0", "error(1e-300) L0")
    assert alone.llr([[]])[0, 0] == pytest.approx(math.log(1e-300))
    merged = decoder("error(1) D0 L0", "error(1e-300) D0 L0", "error(0.2) D0")
    assert merged.llr([[0]])[0, 0] == pytest.approx(math.log(0.8e-300 / 0.2))
    assert merged.llr([[1]])[0, 0] == pytest.approx(math.log(0.2e-300 / 0.8))


def test_gaps_count_flips_without_detectors() -> None:
    weight = math.log(0.9 / 0.1)
    assert decoder("error(0.1) L0").gap([[]])[0, 0] == pytest.approx(weight)
    both = decoder("error(0.1) L0", "error(0.01) D0 L0", "error(0.01) D0 D1", "error(0.01) D1")
    assert both.gap([[0, 0]])[0, 0] == pytest.approx(weight)
    erased = np.array([[True, False, False, False]])
    assert both.gap([[0, 0]], erasures=erased)[0, 0] == 0.0


def test_gaps_of_impossible_shots_are_refused() -> None:
    with pytest.raises(ImpossibleShotError):
        decoder("error(1) D0 L0").gap([[0]])


@pytest.mark.parametrize("probability", [0.1, 0.9])
def test_matching_takes_likely_flips_without_detectors_as_present(probability: float) -> None:
    lines = (f"error({probability}) L0 L1", "error(0.2) D0 L1")
    for shot in ([0], [1]):
        flips = decoder(*lines, method="matching").decode([shot])[0]
        likely = probability > 0.5
        assert flips.tolist() == [likely, likely != (shot == [1])]


def test_erasing_what_never_happens_is_refused_and_not_taken_for_its_neighbour() -> None:
    lines = ("error(0.2) D0 D1 L0", "error(0.3) D1", "error(0.1) D1 D2", "error(0) D1 D2 L0")
    erased = np.array([[False, False, False, True]])
    with pytest.raises(ModelError, match="names mechanism 3"):
        decoder(*lines).posterior([[1, 1, 1]], erasures=erased)
