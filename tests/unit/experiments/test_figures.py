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


PUBLISHED = {
    **{"trw local": 0.33, "trw psd": 0.31, "trw cycle": 0.15, "trw marginal": 0.13},
    **{"log-det local": 0.17, "log-det psd": 0.16, "log-det cycle": 0.076},
    **{"log-det marginal": 0.071},
}


def verdicts_on_marginals(**changes):
    """What the figure says where errors are those of the paper, but for some changes."""
    errors = dict.fromkeys(marginal_accuracy.WAYS | marginal_accuracy.EXTRA, 0.2)
    errors |= PUBLISHED | {marginal_accuracy.WEIGHTED: 0.33, marginal_accuracy.BP: 0.37} | changes
    record = {"errors": errors, "bounds": {"any": 0.1}, "bp_converged": False}
    results = [Result({"coupling": marginal_accuracy.PEAK, "seed": k}, record) for k in range(6)]
    verdicts = marginal_accuracy.plot(results).verdicts
    return [
        verdict.holds for verdict in verdicts if "slightly better than loopy" not in verdict.claim
    ]


def test_verdicts_on_marginals_follow_the_errors():
    assert all(verdicts_on_marginals())
    for way, error in (("trw cycle", 0.3), ("log-det cycle", 0.15), ("trw psd", 0.2)):
        assert False in verdicts_on_marginals(**{way: error})
