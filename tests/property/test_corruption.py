"""Change any number of a saved result: the change is noticed, or what is claimed is still true."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planaris as pl
from planaris.embed import prove_planarity
from planaris.errors import PlanarisError
from planaris.models import IsingModel, MarkovRandomField
from planaris.reference import enumerate_states
from planaris.relax import branch_and_cut, cycle_lp, local_lp
from planaris.result import load_result
from planaris.result.files import _digest, save_result
from planaris.verify import check_result

CLAIMS = ("energy", "spins", "labels", "upper", "value", "nodes", "edges")


def complete(n: int, seed: int, *, whole: bool = False) -> IsingModel:
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u in range(n) for v in range(u)]
    couplings = rng.choice([-1.0, 1.0], len(edges)) if whole else rng.normal(size=len(edges))
    return IsingModel(edges, couplings, fields=None if whole else 0.3 * rng.normal(size=n))


def field_of_three_labels(seed: int) -> MarkovRandomField:
    rng = np.random.default_rng(seed)
    pairs = [(u, v) for u in range(6) for v in range(u + 1, 6)]
    return MarkovRandomField([3] * 6, [(pair, np.exp(rng.normal(size=(3, 3)))) for pair in pairs])


GLASS = pl.generate.spin_glass(4, np.random.default_rng(0))
BIASED = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], fields=[0, 0.5, 0.25])
CHAIN = IsingModel([(0, 1), (1, 2)], [1.0, 0.3], fields=[2.0, 0.0, -0.5])
DENSE, WHOLE = complete(9, 1), complete(11, 2, whole=True)
LABELS = field_of_three_labels(3)
CASES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "t-join": (GLASS, pl.ground_state),
    "t-join with fields": (BIASED, pl.ground_state),
    "flow": (CHAIN, lambda model: pl.ground_state(model, "graph-cut")),
    "flow of a relaxation": (DENSE, local_lp),
    "cycles": (DENSE, lambda model: cycle_lp(model, prove=True)),
    "cut tree": (WHOLE, lambda model: branch_and_cut(model, prove=True)),
    "labels": (LABELS, lambda model: branch_and_cut(model, prove=True)),
    "log Z": (DENSE, pl.log_partition),
    "marginals": (DENSE, pl.marginals),
    "plane": (GLASS, prove_planarity),
    "not planar": (WHOLE, prove_planarity),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every number of a document."""
    if isinstance(value, dict):
        return [p for key, entry in value.items() for p in places(entry, (*path, key))]
    if isinstance(value, list):
        return [p for k, entry in enumerate(value) for p in places(entry, (*path, k))]
    return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []


def corrupt(document: Any, path: tuple[Any, ...], rng: np.random.Generator) -> Any:
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    if isinstance(old, int):
        new = old + int(rng.choice([-2, -1, 1, 2, 1000]))
    else:
        new = float(rng.choice([-old, old + 1.0, old * 1.01 + 1e-3, old - 0.5, 1e300]))
    at[path[-1]] = new if new != old else old + 1
    return changed


def truth_of(model: Any) -> float:
    if isinstance(model, IsingModel):
        return enumerate_states(model).energy
    return pl.ground_state(model, "treewidth").energy


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_a_changed_number_is_refused(name: str, count: int, tmp_path: Any) -> None:
    model, solve = CASES[name]
    path = tmp_path / "r.json"
    save_result(solve(model), path)
    whole = json.loads(path.read_text())
    assert check_result(model, load_result(path)).proved
    rng = np.random.default_rng(7)
    numbers = places(whole["body"])
    minimum = truth_of(model) if whole["body"]["answer"] == "ground-state" else None
    for where in rng.choice(len(numbers), count).tolist():
        body = corrupt(whole["body"], numbers[where], rng)
        path.write_text(json.dumps({**whole, "body": body}))
        with pytest.raises(PlanarisError, match="sha256"):
            load_result(path)
        path.write_text(json.dumps({**whole, "body": body, "sha256": _digest(body)}))
        accepted = survives(model, path)
        if numbers[where][0] in CLAIMS:
            assert not accepted, (numbers[where], body[numbers[where][0]])
        elif accepted and minimum is not None:
            assert body["lower"] <= minimum + 1e-6
            assert not body["exact"] or body["energy"] <= minimum + 1e-6


def survives(model: Any, path: Any) -> bool:
    """Whether a file passes; anything but an error of ours on the way is a fault."""
    try:
        return check_result(model, load_result(path)).proved
    except PlanarisError:
        return False
