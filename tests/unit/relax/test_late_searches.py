"""What searches do between the look at the clock that finds the time over and their answer."""

from __future__ import annotations

import numpy as np

import planaris as pl
from helpers.clocks import StepClock
from planaris.budget import Budget, use_clock
from planaris.relax.branching.branch_and_cut import BranchAndCut, Node
from planaris.relax.cut_form import CutForm
from planaris.relax.lp import local_polytope


def glass(rng: np.random.Generator) -> pl.IsingModel:
    edges = pl.generate.torus(6).edges
    return pl.IsingModel(edges, rng.choice([-1.0, 1.0], len(edges)), rng.normal(size=36))


def test_no_edges_are_fixed_once_the_time_is_over(rng, monkeypatch):
    search = BranchAndCut(CutForm.from_model(glass(rng)), gap=0.0, seed=0, budget=Budget(0.0))
    monkeypatch.setattr(search, "fix_by_reduced_cost", lambda: 1 / 0)
    left = search.process(Node(-np.inf, 0, ()))
    assert left is not None
    assert left.bound > -np.inf


def test_reduced_costs_are_not_computed_once_the_time_is_over(rng, monkeypatch):
    search = BranchAndCut(CutForm.from_model(glass(rng)), gap=0.0, seed=0)
    search.start_states()
    search.cut_node(Node(-np.inf, 0, ()))
    search.budget, calls = Budget(0.0), []
    compute = search.lp.reduced_costs
    monkeypatch.setattr(search.lp, "reduced_costs", lambda: calls.append(1) or compute())
    assert search.fix_by_reduced_cost() == ()
    assert len(calls) == 1  # those of the bound


def test_a_look_parts_the_proof_of_a_linear_program_from_freeing_it(rng, monkeypatch):
    looks = []

    def noting(name):
        work = getattr(local_polytope, name)

        def noted(*given):
            if name == "_improve":
                looks.append(clock.looks)
            found = work(*given)
            if name == "_flow":
                looks.append(clock.looks)
            return found

        monkeypatch.setattr(local_polytope, name, noted)

    noting("_flow")
    noting("_improve")
    with use_clock(StepClock(10**9)) as clock:
        local_polytope.local_lp(glass(rng), time_limit=1.0)
    assert looks[1] - looks[0] >= 2
