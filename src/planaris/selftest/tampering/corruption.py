"""Change numbers of saved results: each change is refused, or what is claimed is still true."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from planaris import treewidth
from planaris.bounds.best_interval import BestInterval
from planaris.bounds.intervals.strips import tighten_by_strips
from planaris.bounds.labels.mini_buckets import elimination_order, mini_bucket_bound
from planaris.budget import Budget
from planaris.embed import prove_planarity
from planaris.errors import FileFormatError, PlanarisError
from planaris.generate import spin_glass, square_lattice
from planaris.infer import ground_state, log_partition, marginals
from planaris.models import IsingModel, MarkovRandomField, bias2fields
from planaris.relax import branch_and_cut, cycle_lp, entropy_bound, local_lp, mplp
from planaris.result import (
    Bounds,
    CutsetSum,
    HeavyState,
    HeldSpin,
    LogPartition,
    LowestEnergy,
    load_result,
)
from planaris.result.files import digest, save_result
from planaris.selftest.tampering.forgery import places, read, written
from planaris.selftest.tampering.window_ends import ends_by_windows
from planaris.subgraphs.covers import lattice_places
from planaris.verify import check_result
from planaris.verify.recompute.elimination import recompute

CLAIMS = ("energy", "spins", "labels", "value", "nodes", "edges")
"""Fields of which no change may pass; others may be weakened to something still true.

The ``value`` of an interval is an estimate inside it: any other number inside is as true; so are
estimates of marginals between their ends. Changes
are drawn at random here, one model per kind of proof; :mod:`planaris.selftest.tampering.forgery`
goes through all fields of all methods.
"""


def _complete(n: int, seed: int, *, whole: bool = False) -> IsingModel:
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u in range(n) for v in range(u)]
    couplings = rng.choice([-1.0, 1.0], len(edges)) if whole else rng.normal(size=len(edges))
    return IsingModel(edges, couplings, fields=None if whole else 0.3 * rng.normal(size=n))


def _field_of_three_labels(seed: int) -> MarkovRandomField:
    rng = np.random.default_rng(seed)
    pairs = [(u, v) for u in range(6) for v in range(u + 1, 6)]
    return MarkovRandomField([3] * 6, [(pair, np.exp(rng.normal(size=(3, 3)))) for pair in pairs])


def _wheel(n: int) -> IsingModel:
    """Return spins with fields, which a hub that is the first spin stands for."""
    rng = np.random.default_rng(n)
    pairs = [(0, v) for v in range(1, n)] + [(u, v) for v in range(1, n) for u in range(1, v)]
    return IsingModel(pairs, rng.normal(size=len(pairs)))


def _by_hub(model: IsingModel) -> LogPartition:
    """Bound log Z by trees of the model whose first spin is held at +1."""
    held, _ = bias2fields(model, 0)
    found = log_partition(held, "trw")
    lower, upper = (end + math.log(2.0) for end in (found.lower - 1e-9, found.upper + 1e-9))
    proof = HeldSpin(0, found.certificate)
    n = model.num_spins
    return LogPartition.between(lower, upper, num_variables=n, method="trw", certificate=proof)


def _by_lowest_energy(model: IsingModel) -> LogPartition:
    found = mplp(model, prove=True)
    upper = model.num_spins * math.log(2.0) - found.lower + 1e-9
    proof = Bounds(HeavyState(found.spins), LowestEnergy(found.certificate))
    return LogPartition.between(
        -found.energy - 1e-9,
        upper,
        num_variables=model.num_spins,
        method="interval",
        certificate=proof,
    )


def _by_strips(model: IsingModel) -> LogPartition:
    """Bound log Z by strips of a lattice with long edges."""
    places = lattice_places(model)
    assert places is not None, "it is a lattice"
    clock = BestInterval(Budget(threads=1))
    tighten_by_strips(model, places, clock, clock.budget, width=1)
    return clock.result("interval", model.num_spins)


def _by_cutset(model: MarkovRandomField) -> LogPartition:
    """Sum over some assignments of two variables, and bound by groups of tables."""
    labels = [(0, 0), (1, 2), (2, 1), (0, 2)]
    terms = [
        treewidth.log_partition(model.condition(dict(enumerate(pair)))[0]).lower for pair in labels
    ]
    lower = float(np.logaddexp.reduce(terms)) - 1e-9
    above = mini_bucket_bound(model, elimination_order(model), 27)
    proof = Bounds(CutsetSum(np.array([0, 1]), np.array(labels)), above.proof())
    return LogPartition.between(
        lower,
        above.upper,
        num_variables=model.num_variables,
        method="interval",
        certificate=proof,
    )


GLASS = spin_glass(4, np.random.default_rng(0))
BIASED = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], fields=[0, 0.5, 0.25])
CHAIN = IsingModel([(0, 1), (1, 2)], [1.0, 0.3], fields=[2.0, 0.0, -0.5])
COLD = spin_glass(4, np.random.default_rng(0), beta=20.0)
GRID = IsingModel.from_image(np.full((5, 4), 0.3), 0.4, -0.6)
ATTRACTIVE = IsingModel.from_image(
    1.5 * np.random.default_rng(3).normal(size=(4, 4)), np.full((4, 3), 0.9), np.full((3, 4), -0.7)
)
LONG = IsingModel(
    np.concatenate([square_lattice(3, 4).edges, [[0, 11], [2, 8], [4, 7]]]),
    np.random.default_rng(4).normal(size=20),
    np.random.default_rng(5).normal(size=12),
)
DENSE, WHOLE = _complete(9, 1), _complete(11, 2, whole=True)
KINDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "t-join": (GLASS, ground_state),
    "t-join with fields": (BIASED, ground_state),
    "flow": (CHAIN, lambda model: ground_state(model, "graph-cut")),
    "flow of a relaxation": (DENSE, local_lp),
    "cycles": (DENSE, lambda model: cycle_lp(model, prove=True)),
    "cut tree": (WHOLE, lambda model: branch_and_cut(model, prove=True)),
    "semidefinite tree": (
        _complete(9, 2),
        lambda model: branch_and_cut(model, prove=True, bound="semidefinite"),
    ),
    "labels": (_field_of_three_labels(3), lambda model: branch_and_cut(model, prove=True)),
    "label cycles": (_field_of_three_labels(3), lambda model: cycle_lp(model, prove=True)),
    "split": (DENSE, lambda model: ground_state(model, "pdc")),
    "log Z": (DENSE, log_partition),
    "sum over cuts": (COLD, lambda model: log_partition(model, "planar")),
    "marginals over cuts": (COLD, lambda model: marginals(model, "planar")),
    "contraction": (GRID, lambda model: log_partition(model, "tensor-network", prove=True)),
    "marginals between states": (
        GRID,
        lambda model: marginals(model, "tensor-network", prove=True),
    ),
    "ends by windows": (ATTRACTIVE, ends_by_windows),
    "decomposition": (DENSE, lambda model: log_partition(model, "pdc")),
    "trees": (DENSE, lambda model: log_partition(model, "trw")),
    "entropy of trees": (DENSE, lambda model: entropy_bound(model)),
    "entropy of a Gaussian": (DENSE, lambda model: log_partition(model, "logdet")),
    "held spin": (_wheel(9), _by_hub),
    "lowest energy": (DENSE, _by_lowest_energy),
    "trees of labels": (_field_of_three_labels(4), lambda model: log_partition(model, "trw")),
    "independent labels": (
        _field_of_three_labels(5),
        lambda model: log_partition(model, "mean-field"),
    ),
    "split edges": (LONG, _by_strips),
    "cutset and buckets": (_field_of_three_labels(6), _by_cutset),
    "marginals": (DENSE, marginals),
    "plane": (GLASS, prove_planarity),
    "not planar": (WHOLE, prove_planarity),
}
"""A model and a solver for every kind of proof."""


@cache
def solve_kind(kind: str) -> Any:
    """Return the result of a kind, which is found once.

    Examples
    --------
    >>> solve_kind("t-join").exact
    True
    """
    model, solve = KINDS[kind]
    return solve(model)


def corrupt_kind(kind: str, count: int, seed: int = 7) -> Iterator[str | None]:
    """Corrupt the result of a kind ``count`` times; yield what passed that should not have.

    Examples
    --------
    >>> list(corrupt_kind("flow", 3))
    [None, None, None]
    """
    model = KINDS[kind][0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        save_result(solve_kind(kind), path)
        whole = json.loads(path.read_text())
        if not check_result(model, load_result(path)).proved:
            yield "the untouched result does not pass"
            return
        rng = np.random.default_rng(seed)
        numbers = number_places(whole["body"])
        for where in rng.choice(len(numbers), count).tolist():
            body = _changed(whole["body"], numbers[where], rng)
            yield _fault(model, path, whole, body, numbers[where])


def _fault(model: Any, path: Path, whole: Any, body: Any, where: tuple[Any, ...]) -> str | None:
    path.write_text(json.dumps({**whole, "body": body}))
    try:
        load_result(path)
    except FileFormatError:
        pass
    else:
        return f"{where}: the digest does not notice"
    path.write_text(json.dumps({**whole, "body": body, "sha256": digest(body)}))
    try:
        accepted = check_result(model, load_result(path)).proved
    except PlanarisError:
        return None
    estimate = where[0] in ("value", "nodes", "edges") and not body["exact"]
    claim = where[0] in CLAIMS and not estimate
    if accepted and (claim or not _still_true(model, body)):
        return f"{where}: accepted"
    return None


def _still_true(model: Any, body: dict[str, Any]) -> bool:
    """Whether what the body claims of a minimum, of log Z or of marginals holds."""
    if body["answer"] == "marginals" and isinstance(model, IsingModel):
        return _true_ends(model, body)
    task = {"ground-state": "max", "log-partition": "sum"}.get(body["answer"])
    if task is None:
        return True
    found = recompute(model, task=task)
    assert found is not None, "these models are small"
    if task == "max":
        claimed = body["energy"] if body["exact"] else body["lower"]
        return bool(claimed <= -found.value + 1e-6)
    return bool(float(body["lower"]) - 1e-6 <= found.value <= float(body["upper"]) + 1e-6)


def _true_ends(model: IsingModel, body: dict[str, Any]) -> bool:
    """Whether every probability is as close as claimed, and between its ends."""
    exact = treewidth.marginals(model)
    slack = float(body["error"]) + 1e-9
    for name, truth in (("nodes", exact.nodes), ("edges", exact.edges)):
        if np.any(np.abs(np.asarray(body[name]) - truth) > slack):
            return False
        for end, way in (("lower", 1), ("upper", -1)):
            ends = body[f"{name}_{end}"]
            if ends is not None and np.any(way * (np.asarray(ends) - truth) > 1e-9):
                return False
    return True


def number_places(document: Any) -> list[tuple[Any, ...]]:
    """Return the way to every number of a document."""
    return [where for where in places(document) if type(read(document, where)) in (int, float)]


def _changed(document: Any, where: tuple[Any, ...], rng: np.random.Generator) -> Any:
    old = read(document, where)
    new: float
    if isinstance(old, int):
        new = old + int(rng.choice([-2, -1, 1, 2, 1000]))
    else:
        new = float(rng.choice([-old, old + 1.0, old * 1.01 + 1e-3, old - 0.5, 1e300]))
    return written(document, where, new if new != old else old + 1)
