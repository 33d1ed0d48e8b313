"""Change every leaf of saved results, one at a time: a change is refused, or the result is true.

Where :mod:`planaris.selftest.tampering.corruption` draws numbers at random from large results,
this goes through all of a small one: every answer of every method, every field, every kind of
change. What passes the check is judged by brute force in rational numbers. So is what a changed
proof proves, whatever is claimed: a proof that proves too much would support a false claim.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from planaris.embed import prove_planarity
from planaris.errors import PlanarisError
from planaris.infer import ground_state, log_partition, marginals
from planaris.kernels.cuts import balance_signs
from planaris.methods.registry import Verb, method_names
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import load_result
from planaris.result.files import FORMAT, VERSION, digest, load_proof, save_result
from planaris.result.proofs import PROOFS
from planaris.selftest.judge import false_claim, false_interval
from planaris.selftest.rationals import Truth
from planaris.selftest.soak import REFUSALS
from planaris.selftest.tampering.window_ends import ends_by_windows
from planaris.verify import check_result

VERBS: dict[Verb, Callable[..., Any]] = {
    "ground_state": ground_state,
    "log_partition": log_partition,
    "marginals": marginals,
}
"""The verbs whose answers are saved."""

PROVING = ("local-lp", "cycle-lp", "mplp", "branch-and-cut")
"""Methods whose ground states have a proof when it is asked for only."""

SECONDS = 2.0
"""For every answer: bounds go on for longer."""

PROOF_SHARE = 7
"""One out of this many changes inside a proof is tried, for each change outside."""


def _dense(n: int, seed: int, *, fields: bool = True) -> IsingModel:
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u in range(n) for v in range(u)]
    couplings = rng.normal(size=len(edges))
    return IsingModel(edges, couplings, fields=0.3 * rng.normal(size=n) if fields else None)


def _labels(cards: list[int], scopes: list[tuple[int, ...]], seed: int) -> MarkovRandomField:
    rng = np.random.default_rng(seed)
    sizes = [[cards[v] for v in scope] for scope in scopes]
    return MarkovRandomField(
        cards,
        [(scope, rng.normal(size=size)) for scope, size in zip(scopes, sizes, strict=True)],
        log=True,
    )


def _hard() -> MarkovRandomField:
    table = np.exp(np.random.default_rng(4).normal(size=(2, 3, 2)))
    table[0, 1, :] = table[1, :, 0] = 0.0
    return MarkovRandomField([2, 3, 2], [((0, 1, 2), table), ((1,), [1.0, 2.0, 0.5])])


def _mixed() -> IsingModel:
    edges = [(u, v) for u in range(4) for v in range(u)]
    return IsingModel(edges, [1e17, -0.7, 0.4, 0.9, -0.3, 0.6], fields=[0.2, 0.0, -0.1, 0.5])


MODELS: dict[str, Callable[[], IsingModel | MarkovRandomField]] = {
    "triangle": lambda: IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, 3.0]),
    "frustrated, fields": lambda: IsingModel(
        [(0, 1), (1, 2), (0, 2)], [1.1, 2.3, -3.7], fields=[0.0, 0.5, 0.25], offset=0.5
    ),
    "chain, cut": lambda: IsingModel([(0, 1), (1, 2)], [1.0, 0.3], fields=[2.0, 0.0, -0.5]),
    "square, cold": lambda: IsingModel([(0, 1), (1, 2), (2, 3), (0, 3)], [12.0, -9.5, 11.3, 10.1]),
    "K5": lambda: _dense(5, 1),
    "K5, no fields": lambda: _dense(5, 2, fields=False),
    "1e17 beside 1": _mixed,
    "grid, fields": lambda: IsingModel.from_image(
        [[0.3, -0.2], [0.1, 0.4], [-0.5, 0.2]], [[0.7], [-0.4], [0.9]], [[0.6, -0.8], [0.5, 0.3]]
    ),
    "no edges": lambda: IsingModel(np.zeros((0, 2), dtype=int), [], num_spins=2),
    "two labels": lambda: _labels([2, 2, 2], [(0, 1), (2, 1), (0, 2), (1,), (0, 1), ()], 3),
    "three labels": lambda: _labels([3, 3, 3], [(0, 1), (1, 2), (0, 2), (0,)], 5),
    "hard constraints": _hard,
}
"""Small models of every sort."""


@dataclass(frozen=True)
class Forgeable:
    """A result to be changed: the model, and the call that gave it."""

    name: str
    model: IsingModel | MarkovRandomField
    solve: Callable[[], Any]


def cases(*, model: str | None = None) -> list[Forgeable]:
    """Return every verb and method on every model; some of them refuse it."""
    found: list[Forgeable] = []
    for name, make in MODELS.items():
        if model not in (None, name):
            continue
        one = make()
        for verb, call in VERBS.items():
            for method in method_names(verb):
                solve: Callable[[], Any] = partial(call, one, method, time_limit=SECONDS)
                found.append(Forgeable(f"{name}: {verb}, {method}", one, solve))
        for method in PROVING:
            solve = partial(ground_state, one, method, prove=True, time_limit=SECONDS)
            found.append(Forgeable(f"{name}: ground_state, {method}, proved", one, solve))
        if isinstance(one, IsingModel):
            solve = partial(log_partition, one, "tensor-network", prove=True, time_limit=SECONDS)
            found.append(Forgeable(f"{name}: log_partition, tensor-network, proved", one, solve))
            found.append(Forgeable(f"{name}: planarity", one, partial(prove_planarity, one)))
            if not len(balance_signs(one.num_spins, one.edges, one.couplings)[1]):
                solve = partial(ends_by_windows, one)
                found.append(Forgeable(f"{name}: marginals, ends, proved", one, solve))
    return found


def forge(case: Forgeable, *, every: int = 1, seed: int = 0) -> Iterator[str | None]:
    """Change every leaf of a result in every way; yield what passed that is false.

    Parameters
    ----------
    case : Forgeable
        The result.
    every : int
        Try one change in so many; inside the proof, one in seven times as many unless all are
        asked for (``every=0``).
    seed : int
        Which of them.

    Examples
    --------
    >>> [case] = [one for one in cases(model="triangle") if one.name.endswith("mplp, proved")]
    >>> found = list(forge(case, every=10))
    >>> len(found) > 30, [fault for fault in found if fault]
    (True, [])
    """
    try:
        result = case.solve()
    except REFUSALS:
        return
    truth = Truth(case.model, planar=not case.name.startswith("K5"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        save_result(result, path)
        whole = json.loads(path.read_text())
        fault = _fault(case, truth, path, whole["body"]) or _refusal(case, path)
        yield None if fault is None else f"{case.name}: untouched: {fault}"
        for body in _moved_together(truth, whole["body"]):
            fault = _fault(case, truth, path, body)
            ends = body["lower"], body["upper"]
            yield None if fault is None else f"{case.name}: together, {ends}: {fault}"
        for where, body in changed_bodies(whole["body"], partial(_chosen, every, seed)):
            fault = _fault(case, truth, path, body)
            at = ".".join(map(str, where))
            yield None if fault is None else f"{case.name}: {at} = {read(body, where)}: {fault}"


def _chosen(every: int, seed: int, where: tuple[Any, ...], number: int) -> bool:
    """Return whether a change is tried, by its place and its number."""
    inside = len(where) > 1 and where[0] == "certificate"
    stride = every * PROOF_SHARE if inside else every
    return not stride or (number + seed) % stride == 0


def _fault(case: Forgeable, truth: Truth, path: Path, body: dict[str, Any]) -> str | None:
    """Return what is false and passes, with all that can be recomputed and by proofs alone."""
    document = {"format": FORMAT, "version": VERSION, "sha256": digest(body), "body": body}
    path.write_text(json.dumps(document))
    for recompute in (True, False):
        try:
            report = check_result(case.model, load_result(path), recompute=recompute)
        except PlanarisError:
            continue
        wrong = false_claim(truth, body, accepted=report.proved)
        if wrong is not None:
            return f"{wrong} is false, but passes{'' if recompute else ' by its proof alone'}"
    try:
        proved = load_proof(path).check(case.model)
    except PlanarisError:
        return None
    wrong = false_interval(truth, proved)
    return None if wrong is None else f"its proof gives the {wrong}, which is false"


def _refusal(case: Forgeable, path: Path) -> str | None:
    """Return why an honest result is refused, with recomputation or without."""
    for recompute in (True, False):
        try:
            check_result(case.model, load_result(path), recompute=recompute)
        except PlanarisError as error:
            return f"refused: {error}"
    return None


def _moved_together(truth: Truth, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield ground states of which several fields were changed to fit each other.

    As long as the state is the best one, ``lower <= energy`` alone keeps the lower end true; with
    the worst one it is for the proof to do. And energies move together with upper ends.
    """
    allowed = [(e, s) for s, e in truth.energies.items() if e is not None]
    if body["answer"] != "ground-state" or not allowed:
        return
    for step in (1e-15, 1e-12, 1e-9, 1e-6, 0.01, 1.0):
        moved_energy = float(body["energy"]) + step
        exact = (
            moved_energy == body["lower"]
            or moved_energy - float(body["lower"]) <= body["tolerance"]
        )
        yield {**body, "energy": moved_energy, "upper": moved_energy, "exact": bool(exact)}
    energy, state = max(allowed)
    spins = [2 * label - 1 for label in state] if body["spins"] else []
    moved = {"labels": list(state), "spins": spins, "energy": float(energy), "upper": float(energy)}
    least, tolerance = float(min(allowed)[0]), body["tolerance"]
    steps = [0.0, 0.5 * tolerance, 3 * tolerance, 1e-6, 0.01, 1.0]
    for lower in (body["lower"], *(least + step for step in steps), float(energy)):
        number = float(lower)
        if number <= energy:
            exact = bool(float(energy) - number <= tolerance)
            yield {**body, **moved, "lower": lower, "exact": exact}


# -- changes ---------------------------------------------------------------------------------------


def changed_bodies(
    body: dict[str, Any], chosen: Callable[[tuple[Any, ...], int], bool] = lambda *_: True
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the way to a leaf or list and the body with that changed, for every chosen change."""
    numbers = itertools.count()
    for where in places(body):
        old = read(body, where)
        for new in _changes(old, where):
            if chosen(where, next(numbers)) and json.dumps(new) != json.dumps(old):
                yield where, written(body, where, new)
    if chosen(("unknown",), next(numbers)):
        yield ("unknown",), {**body, "unknown": 1.0}
    for name in body:
        if chosen((name,), next(numbers)):
            yield (name,), {key: value for key, value in body.items() if key != name}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every leaf, list and object of a document."""
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, entry in items:
        yield from places(entry, (*path, key))


def _changes(old: Any, where: tuple[Any, ...]) -> list[Any]:
    """Return what a leaf is changed to."""
    if isinstance(old, bool):
        return [not old, None, int(not old), str(old)]
    if isinstance(old, int):
        whole = [-old, old + 1, old - 1, 2 * old, 0, 1, 2**62, -(2**62), 10**30]
        return [*whole, old + 0.5, float(old), True, None, str(old), [old]]
    if isinstance(old, float):
        steps = [1e-6, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15, 0.01]
        near = [old + sign * step for step in steps for sign in (-1, 1)]
        near += [old * (1 + sign * step) for step in steps for sign in (-1, 1)]
        near += [math.nextafter(old, math.inf), math.nextafter(old, -math.inf)]
        far = [-old, old + 1, old - 1, 2 * old, old / 2, 0.0, 1e300, -1e300, 1e-300, round(old)]
        return [*near, *far, None, str(old), "inf", "-inf", "nan", [old], True]
    if isinstance(old, str):
        kinds = list(PROOFS) if where[-1] == "kind" else []
        answers = ["ground-state", "log-partition", "marginals", "planarity", "proof"]
        others = answers if where[-1] == "answer" else []
        return ["", "inf", "-inf", "nan", old + "x", None, 0, [old], *kinds, *others]
    if isinstance(old, list):
        turned = [old[::-1], old[1:], old[:-1], [], [*old, *old[-1:]], [*old[:1], *old]]
        return [*turned, [*old, 0], [*old, None], [old], None, 0, {}]
    if isinstance(old, dict):
        return [None, [], {}, [old], 0, *({k: v for k, v in old.items() if k != n} for n in old)]
    return [0, 0.0, 1.0, "inf", [], {}, True]


def read(body: Any, where: tuple[Any, ...]) -> Any:
    """Return what is at one place of a document."""
    for key in where:
        body = body[key] if not isinstance(body, dict) or key in body else "nothing"
    return body


def written(body: Any, where: tuple[Any, ...], new: Any) -> Any:
    """Return a document with one place changed; the rest is shared with the old one."""
    if not where:
        return new
    changed = copy.copy(body)
    changed[where[0]] = written(body[where[0]], where[1:], new)
    return changed
