"""Change any leaf of a saved result: it is refused, or the result is true by brute force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planaris.models import IsingModel
from planaris.result.files import FIELDS
from planaris.selftest.judge import JUDGED, NOT_RELIED_ON
from planaris.selftest.tampering import forgery
from planaris.selftest.tampering.forgery import MODELS, Forgeable, cases, forge
from planaris.selftest.tampering.window_ends import ends_by_windows
from planaris.verify import claims

DOCS = Path(__file__).parents[2] / "docs" / "formats" / "certificate.md"


def faults(found: list[str | None]) -> list[str]:
    return [fault for fault in found if fault is not None]


@pytest.mark.parametrize(
    ("model", "every"),
    [
        ("triangle", 120),
        ("two labels", 120),
        ("grid, fields", 300),
        *(pytest.param(model, 0, marks=pytest.mark.slow) for model in MODELS),
    ],
)
def test_a_changed_leaf_is_refused_or_the_result_is_true(model: str, every: int) -> None:
    for k, case in enumerate(cases(model=model)):
        assert faults(list(forge(case, every=every, seed=k))) == []


def test_changes_of_a_proved_contraction() -> None:
    (case,) = (c for c in cases(model="grid, fields") if c.name.endswith("network, proved"))
    found = list(forge(case, every=2))
    assert len(found) > 200
    assert faults(found) == []


def test_changes_of_proved_ends() -> None:
    """Windows between walls, which other windows must have shown to be likely."""
    fields = [[3.0, 0.2, -2.5], [2.5, -0.3, -3.0]]
    model = IsingModel.from_image(fields, [[0.4, -0.5], [0.6, -0.3]], [[0.5, 0.4, 0.3]])
    case = Forgeable("ends of a grid", model, lambda: ends_by_windows(model))
    proof = case.solve().certificate
    assert len(proof.walls)
    found = list(forge(case, every=15))
    assert len(found) > 30
    assert faults(found) == []


def _proved_by_messages() -> Forgeable:
    (case,) = (c for c in cases(model="triangle") if c.name.endswith("mplp, proved"))
    return case


def test_every_change_of_one_result() -> None:
    found = list(forge(_proved_by_messages(), every=0))
    assert len(found) > 1000
    assert faults(found) == []


@pytest.mark.parametrize("check", ["_check_spins", "check_tolerance", "rounding_of"])
def test_a_check_left_out_is_noticed(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = (lambda *_: 1.0) if check == "rounding_of" else (lambda *_: None)
    monkeypatch.setattr(claims, check, nothing)
    assert faults(list(forge(_proved_by_messages(), every=3)))


def test_a_proof_that_is_not_checked_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planaris.verify.results.require_lower", lambda *_: None)
    found = faults(list(forge(_proved_by_messages())))
    assert any("by its proof alone" in fault for fault in found)


def test_a_field_that_nobody_judges_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forgery.__dict__, "changed_bodies", lambda body, _: [(("x",), {**body})])
    monkeypatch.setitem(JUDGED, "ground-state", JUDGED["ground-state"][1:])
    assert any("nobody judges" in fault for fault in faults(list(forge(_proved_by_messages()))))


@pytest.mark.repository  # and its docs
def test_all_fields_are_judged_or_listed_as_not_relied_on() -> None:
    for answer, fields in FIELDS.items():
        assert fields == {"answer", *JUDGED[answer], *NOT_RELIED_ON} & fields | {
            "answer",
            *JUDGED[answer],
        }
    text = DOCS.read_text()
    (listed,) = re.findall(
        r"<!-- not relied on: begin -->\n(.*?)<!-- not relied on: end -->", text, re.S
    )
    assert tuple(re.findall(r"^- `(\w+)`", listed, re.M)) == NOT_RELIED_ON
