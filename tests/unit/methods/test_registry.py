"""The registry: every method once, found by itself, refusing with a reason."""

import importlib
import inspect
from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from planaris.budget import Budget
from planaris.errors import MethodError, PlanarisError
from planaris.methods import Question, find_method, method_names, methods
from planaris.methods.registry import VERBS
from planaris.methods.tensor_network import improve_value

PROMISED = {
    "ground_state": "auto planar treewidth graph-cut qpbo local-lp cycle-lp mplp branch-and-cut "
    "pdc brute-force",
    "log_partition": "auto planar treewidth trw trw+cycle logdet pdc planar+tree interval "
    "mean-field brute-force bp",
    "marginals": "auto planar treewidth trw trw+cycle logdet pdc planar+tree interval mean-field "
    "clamped brute-force bp",
    "sample": "auto planar treewidth brute-force",
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_promised_method_is_there(verb):
    assert set(PROMISED[verb].split()) <= set(method_names(verb))


def test_an_estimate_is_never_exact_without_a_proof():
    """However narrow, also as a part of a model and in a file."""
    triangle = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [0.1, -0.2, 0.1], [0.3, -0.1, 0.2])
    for name, method in methods().items():
        for verb, task in method.tasks.items():
            if task.promise != "estimate" or verb == "sample":
                continue
            found = method.tasks[verb].run(Question(triangle))
            narrow = {"error": 0.0} if verb == "marginals" else {"upper": found.lower}
            assert found.estimate or found.proved, name
            assert not replace(found, proved=False, estimate=True, **narrow).exact
            assert replace(found, proved=True, **narrow).exact


def test_a_method_of_another_verb_is_refused_with_its_purpose():
    with pytest.raises(MethodError, match="`method='mplp'` bounds the energy of ground states"):
        find_method("mplp", "log_partition")
    for wrong in ("no-such", None, 3):
        with pytest.raises(MethodError, match="must be one of 'auto'"):
            find_method(wrong, "sample")


LABELS = pl.MarkovRandomField([3, 2], [((0, 1), [[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])])
THIRD = pl.MarkovRandomField([2, 2, 2], [((0, 1, 2), np.arange(1.0, 9.0).reshape(2, 2, 2))])
TWO = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 4.0]])])


@pytest.mark.parametrize("verb", ["ground_state", "log_partition", "marginals"])
@pytest.mark.parametrize("mrf", [LABELS, THIRD, TWO], ids=["labels", "third order", "two labels"])
def test_every_method_takes_markov_random_fields_or_says_why_not(verb, mrf):
    truth = getattr(pl, verb)(mrf, "brute-force")
    answered = 0
    for name in method_names(verb):
        try:
            found = getattr(pl, verb)(mrf, name, time_limit=1.0)
        except PlanarisError as reason:
            assert len(str(reason)) > 20  # noqa: PT017
            continue
        answered += 1
        if verb == "marginals":
            assert len(found.nodes) == mrf.num_variables
        elif verb == "log_partition":
            assert found.lower <= truth.value + 1e-9
            assert found.upper >= truth.value - 1e-9
        else:
            assert found.lower <= truth.energy <= found.energy
            assert len(found.assignment) == mrf.num_variables
            assert len(found.spins) == (mrf.num_variables if mrf.is_binary else 0)
    assert answered >= 3


@pytest.mark.parametrize("mrf", [LABELS, THIRD, TWO, pl.MarkovRandomField([], [])])
def test_every_method_samples_markov_random_fields_or_says_why_not(mrf):
    for name in method_names("sample"):
        try:
            states = pl.sample(mrf, 3, 1, method=name, time_limit=1.0)
        except PlanarisError as reason:
            assert len(str(reason)) > 20  # noqa: PT017
            continue
        assert states.shape == (3, mrf.num_variables)


PACKAGES = (
    *("bounds", "cuts", "embed", "models", "planar", "recover", "reductions", "relax", "sampling"),
    *("tensor", "treewidth"),
)


def functions_of_models():
    """Public functions whose first argument is a model or a graph."""
    for package in PACKAGES:
        module = importlib.import_module(f"planaris.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if (
                inspect.isfunction(thing)
                and next(iter(inspect.signature(thing).parameters), "") in FIRST
            ):
                yield pytest.param(thing, id=f"{package}.{name}")


FIRST = ("model", "mrf", "graph")
OTHERS = {
    "num_samples": 2,
    "size": 2,
    "rng": np.random.default_rng(0),
    "labels": [1, 1],
    "truth": [1, 1],
    "region": [0],
    "num_labels": 2,
    "p": 0.1,
    "q": 0.1,
    "reference": [1, 1],
    "embedding": pl.Embedding.from_graph([(0, 1)], num_vertices=2),
}


@pytest.mark.parametrize("function", list(functions_of_models()))
def test_functions_take_markov_random_fields_or_say_why_not(function):
    parameters = inspect.signature(function).parameters
    wanted = [name for name, p in parameters.items() if p.default is p.empty][1:]
    if "network" in wanted:
        pytest.skip("takes what another function makes of a model")
    given = {name: OTHERS[name] for name in wanted}
    if "time_limit" in parameters:
        given["time_limit"] = 1.0
    for model in (LABELS, THIRD, TWO, pl.IsingModel([(0, 1)], [1.0])):
        try:
            function(model, **given)
        except PlanarisError as reason:
            assert len(str(reason)) > 20  # noqa: PT017


FITTED = {
    "labels": LABELS,
    "third order": THIRD,
    "two labels": TWO,
    "zeros": pl.MarkovRandomField([2, 2], [((0, 1), [[0.0, 2.0], [3.0, 4.0]])]),
    "ferromagnet": pl.IsingModel(pl.generate.square_lattice(3).edges, 1.0, np.linspace(-1, 1, 9)),
    "complete": pl.IsingModel([(u, v) for u in range(5) for v in range(u)], -1.0),
}


def answers(model, verb, name):
    given = (model, 2, 0, name) if verb == "sample" else (model, name)
    try:
        getattr(pl, verb)(*given, time_limit=1.0)
    except PlanarisError:
        return False
    return True


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.parametrize("name", [name for name in methods() if name != "auto"])
def test_a_method_fits_where_some_verb_answers(name, kind):
    model, method = FITTED[kind], methods()[name]
    reason = method.fits(model, Budget(1.0))
    assert (reason is None) == any(answers(model, verb, name) for verb in method.tasks), reason


def test_fits_agrees_with_what_runs():
    k5 = pl.IsingModel([(u, v) for u in range(5) for v in range(u)], -1.0)
    budget = Question(k5).budget
    assert "planar" in methods()["planar"].fits(k5, budget)
    assert methods()["graph-cut"].fits(k5, budget) == "it has a frustrated cycle"
    assert methods()["treewidth"].fits(k5, budget) is None
    assert (
        methods()["brute-force"].fits(pl.generate.spin_glass(8, np.random.default_rng(0)), budget)
        is not None
    )


def test_an_estimate_outside_the_interval_is_not_used():
    found = pl.bounds.trw(pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0]))
    guess = replace(found, value=found.lower, upper=found.lower, proved=False)
    outside = replace(guess, value=found.upper + 1.0, upper=found.upper + 2.0)
    better = improve_value(found, guess)
    assert (better.value, better.lower, better.upper) == (found.lower, found.lower, found.upper)
    assert improve_value(found, outside).value == found.value
    assert improve_value(found, outside).stats["tensor_network"]["failed"]
    assert improve_value(found, "none: it is lost").value == found.value
    assert improve_value(found, replace(guess, proved=True)).gap == 0.0
