"""Variables with one label, and zeros, through every method that takes labels."""

import math
from itertools import product

import numpy as np
import pytest

import planaris as pl
from planaris.methods import method_names

NEVER = -math.inf

MODELS = {
    "one": ([1], []),
    "one, impossible": ([1], [((0,), [NEVER])]),
    "two, one impossible": ([1, 1], [((0,), [NEVER])]),
    "two, a pair impossible": ([1, 1], [((1, 0), [[NEVER]])]),
    "two, a pair of certain weight": ([1, 1], [((0, 1), [[0.5]])]),
    "one beside a spin": ([1, 2], [((0, 1), [[0.25, -1.0]])]),
    "one that decides a spin": ([1, 2], [((0, 1), [[NEVER, 0.5]])]),
    "one that forbids a spin": ([1, 2], [((0, 1), [[NEVER, NEVER]])]),
    "one between three labels": ([3, 1, 3], [((0, 1), [[0.0], [1.0], [NEVER]])]),
    "three of one": ([1, 1, 1], [((0, 1, 2), [[[2.0]]])]),
}


def log_weights(cards, factors):
    for x in product(*map(range, cards)):
        yield sum(float(np.asarray(table)[tuple(x[v] for v in scope)]) for scope, table in factors)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", method_names("log_partition"))
def test_log_z_is_enclosed_or_refused(method, name):
    cards, factors = MODELS[name]
    truth = float(np.logaddexp.reduce(list(log_weights(cards, factors))))
    try:
        found = pl.log_partition(pl.MarkovRandomField(cards, factors, log=True), method)
    except pl.PlanarisError:
        return
    assert found.lower <= truth + 1e-12
    assert truth - 1e-12 <= found.upper or found.upper == truth


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", method_names("ground_state"))
def test_least_energies_are_enclosed_or_refused(method, name):
    cards, factors = MODELS[name]
    truth = -max(log_weights(cards, factors))
    try:
        found = pl.ground_state(pl.MarkovRandomField(cards, factors, log=True), method)
    except pl.PlanarisError:
        return
    assert found.lower <= truth + 1e-12
    assert found.energy >= truth - 1e-12
