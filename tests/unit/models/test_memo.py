"""Structure is found once per model, refusals included, and never travels with copies."""

import copy
import pickle

import numpy as np
import pytest

import planaris as pl
from planaris.errors import NotPlanarError
from planaris.models import fields2bias
from planaris.models.base import memo_of, once_per_model


def test_answers_and_refusals_are_remembered():
    seen = []

    @once_per_model
    def find(model, what):
        seen.append(what)
        if what == "no":
            msg = "not planar"
            raise NotPlanarError(msg, edges=np.zeros(0))
        return len(seen)

    model, other = (pl.IsingModel([(0, 1)], [1.0]) for _ in range(2))
    assert find(model, "a") == find(model, "a") == 1
    assert find(other, "a") == 2
    for _ in range(2):
        with pytest.raises(NotPlanarError):
            find(model, "no")
    assert seen == ["a", "a", "no"]


def test_copies_begin_with_nothing():
    model = pl.IsingModel([(0, 1)], [1.0], [0.5, 0.0], offset=2.0)
    assert fields2bias(model)[0] is fields2bias(model)[0]
    for twin in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        model.with_couplings([3.0]),
        model.without_offset(),
        model.with_positions([[0, 0], [1, 0]]),
    ):
        assert memo_of(twin) == {}
    assert fields2bias(model.with_couplings([3.0]))[0].couplings[0] == 3.0


@pytest.mark.parametrize("verb", ["ground_state", "log_partition", "marginals"])
def test_a_model_is_embedded_and_planned_once(verb, monkeypatch):
    from planaris.reductions import parts

    counts = {"embed": 0, "plan": 0}

    def counted(name, function):
        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(parts, "embed", counted("embed", parts.embed))
    monkeypatch.setattr(parts, "Plan", counted("plan", parts.Plan))
    model = pl.generate.spin_glass(12, np.random.default_rng(0))
    for _ in range(3):
        getattr(pl, verb)(model, "planar")
        pl.log_partition(model, "planar")
    assert counts == {"embed": 1, "plan": 1}


def test_bounds_share_the_planarity_test_of_the_parts(monkeypatch):
    from planaris.bounds.best_interval import solve_easy
    from planaris.kernels import graph
    from planaris.reductions.parts import split_model
    from planaris.subgraphs.bias_model import as_bias_model

    tested = []
    test = graph.embed_planar
    monkeypatch.setattr(graph, "embed_planar", lambda *graph: tested.append(graph) or test(*graph))
    edges = pl.generate.square_lattice(6).edges
    model = pl.IsingModel(edges, 1.0, np.ones(36))  # not planar with its bias spin
    split_model(model)
    assert tested
    tested.clear()
    assert solve_easy(model, as_bias_model(model), "planar") is None
    assert not tested


def test_bounds_of_a_large_grid_find_its_structure_once(ticking, monkeypatch):
    from planaris.kernels import graph
    from planaris.models import bias_spin
    from planaris.treewidth import plan

    counts = {}

    def count(module, name, of=lambda *args: True):
        function, counts[name] = getattr(module, name), 0

        def call(*args, **kwargs):
            counts[name] += of(*args)
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    model = pl.IsingModel(pl.generate.square_lattice(30).edges, 1.0, np.ones(900))
    count(graph, "embed_planar")
    count(graph, "find_kuratowski")
    count(bias_spin, "WithoutBias")
    count(plan, "_find_plan", of=lambda given, *_: given is model)
    found = pl.log_partition(model, time_limit=3)
    assert found.lower < found.upper
    assert counts.pop("find_kuratowski") <= 1
    assert counts == {"embed_planar": 1, "WithoutBias": 1, "_find_plan": 1}
