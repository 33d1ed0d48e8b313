"""Answers to the requests of the page: results, what is proved of them, and the time taken."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from planaris.bounds import leave_out
from planaris.embed import Embedding
from planaris.errors import PlanarisError, TooLargeError
from planaris.infer import ground_state, log_partition, sample
from planaris.infer.point_marginals import point_marginals
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.planar import Plan
from planaris.play.fields import refuse
from planaris.play.intervals import energy_interval
from planaris.play.scenes import Scene, require_lattice
from planaris.result import GroundState
from planaris.typing import Array, FloatArray
from planaris.verify import Finding, check_result

TIME_LIMIT = 4.0
"""Seconds given to a verb."""
INTERVAL_SECONDS = 2.0
"""Seconds given to log Z where an interval is known already."""
OPTIONS: dict[str, Any] = {"memory_limit": 2**30, "progress": False}
MARGINAL_TOLERANCE = 1e-7
"""Change of a probability at which a tensor network is good enough: six digits are shown."""
MAX_BRANCHED = 2500
"""Models with more spins than this are not branched on where an interval is known already."""
MAX_CHECKED = 2500
"""Models with more spins than this are not looked at for a second way to log Z and marginals."""
HELD = 40.0
"""A field that holds a spin: tanh(40) is one in floating point."""

Answer = dict[str, Any]


def draw(scene: Scene) -> Answer:
    """Return the model as it is drawn."""
    scene = scene.placed
    model, positions = scene.model, scene.model.positions
    assert positions is not None, "just placed"
    return {
        "kind": scene.kind,
        "shape": scene.shape,
        "positions": np.round(positions, 5).tolist(),
        "edges": model.edges.tolist(),
        "couplings": model.couplings.tolist(),
        "fields": model.fields.tolist() if model.has_fields else None,
        "labels": None if isinstance(model.labels, range) else [str(x) for x in model.labels],
        "faces": scene.frustrated_faces(),
        "surface": _surface(scene),
    }


def _surface(scene: Scene) -> str:
    if scene.surface is not None:
        return "torus"
    if scene.plane is None:
        return "not planar"
    return "planar couplings, with fields" if scene.model.has_fields else "planar"


# -- states ------------------------------------------------------------------------------------


def find_ground_state(scene: Scene) -> Answer:
    """Return a ground state, or the best state found and an interval, with its proof checked."""
    started = perf_counter()
    model, candidates = scene.model, []
    if scene.plane is None:
        candidates += _quick_candidates(scene)
    small = model.num_spins <= MAX_BRANCHED
    if not any(found.exact for found, *_ in candidates) and (small or not candidates):
        left = max(TIME_LIMIT - (perf_counter() - started), 1.0)
        method = "branch-and-cut" if candidates else "auto"
        found = ground_state(model, method, time_limit=left, prove=True, **OPTIONS)
        candidates.append((found, model, found))
    found, proved, proof = min(candidates, key=lambda candidate: candidate[0].gap)
    method = found.method
    if method == "planar" and scene.surface is not None:
        method = f"T-joins on a surface of genus {scene.surface.genus}"
    answer = _state(found, proved, proof, perf_counter() - started, method)
    if proof is not found:
        answer["certificate"] = f"without the added edges: {answer['certificate']}"
    return {**answer, "temperature": 0.0}


def _quick_candidates(scene: Scene) -> list[tuple[GroundState, IsingModel, GroundState]]:
    """Return what the surface or the planar rest says: a result, and a model with its proof."""
    if scene.surface is not None:
        found = ground_state(
            scene.model, "planar", embedding=scene.surface, time_limit=TIME_LIMIT / 2, **OPTIONS
        )
        return [(found, scene.model, found)]
    bounded = energy_interval(scene, time_limit=TIME_LIMIT / 2, **OPTIONS)
    return [] if bounded is None else [(bounded[0], scene.without_added.model, bounded[1])]


def _state(
    found: GroundState, model: IsingModel, proof: GroundState, seconds: float, method: str = ""
) -> Answer:
    return {
        "spins": _as_text(found.spins),
        "energy": found.energy,
        "lower": found.lower,
        "upper": found.upper,
        **_certified(model, proof, found.exact, method or found.method, seconds),
    }


def find_domain_wall(scene: Scene) -> Answer:
    """Return the cheapest wall from top to bottom of a lattice.

    The left column is held as in a ground state and the right one turned over. Strong couplings
    along both columns and one more around the outside do that, and keep the graph planar.
    """
    rows, columns = require_lattice(scene, "a domain wall")
    model = scene.model
    if scene.plane is None:
        msg = "a domain wall needs a planar lattice; take the added edges back"
        raise PlanarisError(msg)
    started = perf_counter()
    ground = ground_state(model, time_limit=TIME_LIMIT / 2, **OPTIONS)
    held = _with_turned_side(model, ground, rows, columns)
    turned = ground_state(held, time_limit=TIME_LIMIT / 2, **OPTIONS)
    answer = _state(turned, held, turned, perf_counter() - started)
    spins = _one_wall(model, ground.spins, turned.spins, columns)
    energy = float(model.energy(spins))
    return {
        **answer,
        "spins": _as_text(spins),
        "ground": _as_text(ground.spins),
        "energy": energy,
        "lower": energy if turned.exact else None,
        "upper": energy,
        "wall_energy": model.energy_above(spins, model.energy_terms(ground.spins)),
        "exact": turned.exact and ground.exact,
        "temperature": 0.0,
    }


def _one_wall(model: IsingModel, ground: Array, turned: Array, columns: int) -> Array:
    """Turn back every region that no side holds: in a ground state its border costs nothing.

    One wall is left of the difference; the loops that ties would add are gone.
    """
    spins = turned * (ground[0] * turned[0])
    column = np.arange(len(spins)) % columns
    on_side = (column == 0) | (column == columns - 1)
    for sign in (-1, 1):
        overlap = spins * ground
        u, v = model.edges.T
        region = connected_components(model.num_spins, model.edges[overlap[u] == overlap[v]])
        loose = (overlap == sign) & ~np.isin(region, region[on_side])
        cleaned = np.where(loose, -spins, spins)
        if model.energy(cleaned) <= model.energy(spins):
            spins = cleaned
    return np.asarray(spins)


def _strength(model: IsingModel) -> float:
    """Return a coupling that is never worth breaking."""
    return float(1.0 + np.abs(model.couplings).sum() + np.abs(model.fields).sum())


def _with_turned_side(
    model: IsingModel, ground: GroundState, rows: int, columns: int
) -> IsingModel:
    site = np.arange(rows * columns).reshape(rows, columns)
    left, right = site[:, 0], site[:, -1]
    pairs = np.concatenate(
        [
            np.column_stack([left[:-1], left[1:]]),
            np.column_stack([right[:-1], right[1:]]),
            [(left[0], right[0])],
        ]
    )
    wanted = ground.spins[pairs[:, 0]] * ground.spins[pairs[:, 1]]
    wanted[-1] = -wanted[-1]
    return IsingModel(
        np.concatenate([model.edges, pairs]),
        np.concatenate([model.couplings, _strength(model) * wanted]),
        model.fields,
        num_spins=model.num_spins,
        offset=model.offset,
    )


def draw_sample(scene: Scene, seed: int) -> Answer:
    """Return one exact sample at the temperature."""
    started = perf_counter()
    try:
        limits = {"time_limit": TIME_LIMIT, **OPTIONS}
        spins = sample(scene.tempered.model, 1, seed, embedding=scene.handles, **limits)[0]
    except PlanarisError as error:
        _refuse_inexact("sample", error)
    return {
        "spins": _as_text(spins),
        "energy": float(scene.model.energy(spins)),
        "exact": True,
        "method": "exact sampling",
        "checked": None,
        "certificate": "an independent sample of the exact distribution",
        "seconds": perf_counter() - started,
        "temperature": scene.temperature,
    }


# -- sums --------------------------------------------------------------------------------------


def find_marginals(scene: Scene, spin: int | None) -> Answer:
    """Return P(s_v = +1) of all spins and P(s_u = s_v) of all edges.

    Wide models with fields are estimated by tensor networks, with a stated error. Without fields
    every spin is up half of the time, so ``spin`` is clamped up: the answer shows how far its
    influence reaches.
    """
    model, held, nodes = scene.tempered.model, None, None
    if not model.has_fields and model.num_spins:
        held = _centre(model) if spin is None else spin
        if held >= model.num_spins:
            refuse("spin", f"an integer from 0 to {model.num_spins - 1}", held)
        if scene.handles is None:
            model = _with_held_spin(model, held)
    started = perf_counter()
    try:
        found = point_marginals(
            model,
            tolerance=MARGINAL_TOLERANCE,
            embedding=scene.handles,
            time_limit=TIME_LIMIT,
            **OPTIONS,
        )
    except PlanarisError as error:
        _refuse_inexact("marginals", error)
    if scene.handles is None:
        nodes = np.asarray(found.nodes)
    elif held is not None:
        nodes = _correlated(scene.handles, model, held)
        if nodes is None:
            held = None
        else:  # holding a spin changes no marginal of an edge
            model = _with_held_spin(model, held)
            found = replace(found, nodes=nodes, certificate=None)
    seconds = perf_counter() - started
    # Tensor networks state an error, which is an estimate as well.
    stated = found.error if found.method == "tensor-network" and not found.exact else None
    return {
        "stated_error": stated,
        "nodes": None if nodes is None else np.round(nodes, 6).tolist(),
        "pairs": np.round(np.asarray(found.edges), 6).tolist(),
        "held": held,
        "temperature": scene.temperature,
        **_certified(model, found, found.exact, _on_surface(found.method, scene), seconds),
    }


def _correlated(surface: Embedding, model: IsingModel, held: int) -> FloatArray | None:
    """Return P(s_v = +1) given that one spin is up; None where rounding forbids it."""
    try:
        found = Plan(surface).spin_correlations(model.couplings, held, progress=False)
    except PlanarisError:
        return None
    return np.clip((1.0 + found) / 2, 0.0, 1.0)


def _with_held_spin(model: IsingModel, spin: int) -> IsingModel:
    fields = np.zeros(model.num_spins)
    fields[spin] = HELD
    return model.with_couplings(model.couplings, fields)


def _centre(model: IsingModel) -> int:
    if model.positions is None:
        return 0
    where = model.positions
    middle = (where.min(axis=0) + where.max(axis=0)) / 2
    return int(np.argmin(((where - middle) ** 2).sum(axis=1)))


def find_log_partition(scene: Scene) -> Answer:
    """Return log Z; of what is not planar also an interval that needs no exact method."""
    cool = scene.tempered
    started = perf_counter()
    planar_but_for_added = scene.plane is None and scene.without_added.plane is not None
    around = None
    if planar_but_for_added:
        around = leave_out(cool.model, max_handles=0, time_limit=INTERVAL_SECONDS)
    around_seconds = perf_counter() - started
    started = perf_counter()
    found = log_partition(
        cool.model,
        embedding=scene.handles,
        time_limit=TIME_LIMIT if around is None else INTERVAL_SECONDS,
        **OPTIONS,
    )
    seconds = perf_counter() - started
    answer = {
        "value": found.value,
        "lower": found.lower,
        "upper": found.upper,
        "temperature": scene.temperature,
        **_certified(cool.model, found, found.exact, _on_surface(found.method, scene), seconds),
    }
    if around is not None:
        ends = max(around.lower, found.lower), min(around.upper, found.upper)
        if not found.exact:
            value = min(max(found.value, ends[0]), ends[1])
            answer.update(value=value, lower=ends[0], upper=ends[1])
            answer.update(method=f"{found.method}, {around.method}")
        answer["interval"] = {
            "lower": around.lower,
            "upper": around.upper,
            "method": around.method,
            "seconds": around_seconds,
        }
    return answer


# -- certificates ------------------------------------------------------------------------------


def _certified(model: IsingModel, found: Any, exact: bool, method: str, seconds: float) -> Answer:
    """Say how a result was found and what of it was proved without the solvers."""
    started, taken = perf_counter(), None
    if model.num_spins <= MAX_CHECKED or _has_proof(found):
        report = check_result(model, found)
        checked, taken = report.proved, perf_counter() - started
        said = "; ".join(_told(finding) for finding in report.findings)
    else:
        checked, said = False, f"no proof, and more than {MAX_CHECKED} spins to compute again"
    return {
        "exact": exact,
        "method": method,
        "checked": checked,
        "certificate": said,
        "error": getattr(found, "error", None),
        "seconds": seconds,
        "check_seconds": taken,
    }


def _has_proof(found: Any) -> bool:
    proofs = getattr(found, "certificate", None)
    return isinstance(proofs, list) and all(part.proof is not None for part in proofs)


def _told(finding: Finding) -> str:
    detail = f" ({finding.detail})" if finding.detail and finding.claim != "energy" else ""
    return f"{finding.claim} {finding.status}{detail}"


def _refuse_inexact(what: str, error: PlanarisError) -> NoReturn:
    why = "in time"
    if isinstance(error, TooLargeError):
        why = "is known: it is neither planar, fields included, nor small in treewidth"
    msg = f"no exact {what} of this model {why}; ground state and log Z still have intervals"
    raise type(error)(msg, **error.evidence) from error


def _on_surface(method: str, scene: Scene) -> str:
    """Return the name of a method; what is planar but for handles is on a surface."""
    if scene.handles is None:
        return method
    return method.replace("planar", f"Pfaffians on a surface of genus {scene.handles.genus}")


def _as_text(spins: Array) -> str:
    """Return spins as a string of + and -, the shortest thing JSON has for them."""
    return np.where(np.asarray(spins) > 0, b"+", b"-").tobytes().decode("ascii")
