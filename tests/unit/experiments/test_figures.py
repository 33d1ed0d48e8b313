"""Every registered figure: its trials are JSON, its runs repeat, its plot takes any subset."""

from __future__ import annotations

import json

import pytest

from planaris.experiments import FIGURES, load_figure
from planaris.experiments.figure import Result, Settings, stable
from planaris.experiments.figures import (
    boundary,
    cutting_planes,
    label_bounds,
    marginal_accuracy,
    pdc,
)
from planaris.experiments.runner import run_trial
from planaris.experiments.store import plain, trial_key
from planaris.report.page import render_page
from planaris.report.parts import Section
from planaris.treewidth import plan_elimination

SMALLER = {"recovery": {"size": 6}, "side-chains": {"residues": 15}}
"""Trials like those of the figure, of models that take less time."""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(boundary, "SIDE", 12)
    monkeypatch.setattr(boundary, "NUM_SAMPLES", 5)
    monkeypatch.setattr(pdc, "SIDE", 5)
    monkeypatch.setitem(cutting_planes.SIDES, "grid", 6)
    monkeypatch.setattr(marginal_accuracy, "SPINS", 7)


@pytest.fixture(params=list(FIGURES))
def figure(request):
    return load_figure(request.param)


def test_trials_are_distinct_json_and_quick_ones_are_fewer(figure):
    quick, full = figure.trials(Settings(quick=True)), figure.trials(Settings())
    for trials in (quick, full):
        assert trials
        assert json.loads(json.dumps(plain(trials))) == trials
        assert len({trial_key(figure, params) for params in trials}) == len(trials)
    assert len(quick) <= len(full)


def test_the_first_quick_trial_repeats_and_can_be_drawn(figure, small):
    params = figure.trials(Settings(quick=True))[0]
    smaller = SMALLER.get(figure.name, {})
    assert set(smaller) <= set(params)
    params |= smaller
    first, second = (_run(figure, params) for _ in range(2))
    assert stable(first) == stable(second)
    panels = figure.plot([Result(params, first)])
    assert panels.pictures
    for verdict in panels.verdicts:
        assert verdict.rule
        assert verdict.holds is not None or verdict.needs
    section = Section(figure.name, figure.title, figure.paper, figure.claim, "", 1, 1, panels)
    assert "<svg" in render_page("page", [section], facts=None)


def _run(figure, params):
    _, record, error = run_trial(figure.run, params)
    assert record is not None, error
    return plain(record)


def test_the_truth_of_every_label_bound_fits_into_a_gibibyte():
    trials = label_bounds.trials(Settings())
    for params in [trial for trial in trials if trial["kind"] == "side-chain"] + trials[:1]:
        plan = plan_elimination(label_bounds.make_model(**params))
        assert plan.bytes <= 2**30, params
