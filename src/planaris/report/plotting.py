"""``planaris.plot``: one function that draws models and everything the verbs return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.embed import Embedding, embed
from planaris.errors import CrossingError, ModelError, NotPlanarError, require_one_of
from planaris.infer import DomainWall, RigidEdges
from planaris.models import IsingModel, MarkovRandomField
from planaris.report.layout import drawn_shape, positions_of, segments
from planaris.report.pictures import (
    BROKEN,
    DOWN,
    EDGE,
    UP,
    WALL,
    draw_frustration,
    draw_spins,
    draw_trace,
    explain,
    new_figure,
)
from planaris.result import GroundState, LogPartition, Marginals, Thermodynamics
from planaris.typing import Array, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = 4000
"""Spins from which a lattice is drawn as an image, not as dots and lines."""

NAMED = 40
"""Spins up to which names are written beside them."""

STRONGEST = 1e6
"""What a potential of zero pulls with in a picture."""


def plot(model: Any, result: Any = None, axes: Axes | None = None, *, what: str = "auto") -> Any:
    """Draw a model, or a result beside its model.

    Parameters
    ----------
    model : IsingModel, MarkovRandomField or None
        What was solved; None for results that need no model (a sweep, the trace of a bound).
    result : optional
        What to draw on it: a :class:`~planaris.result.GroundState` (spins, unsatisfied edges,
        and the frustrated faces that they pair up, which is the matching),
        :class:`~planaris.result.Marginals` (colours), a state or an array of samples, a
        :class:`~planaris.infer.DomainWall`, :class:`~planaris.infer.RigidEdges`, a
        :class:`~planaris.result.Thermodynamics` (curves over temperature) or a
        :class:`~planaris.result.LogPartition` (how its interval closed).
        Default: the model's couplings and fields.
    axes : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure. Sweeps take a sequence of up to three axes.
    what : {"auto", "gap"}
        ``"gap"`` draws how the interval of a result closed over time.

    Returns
    -------
    matplotlib.axes.Axes or numpy.ndarray
        The axes, several for sweeps and samples; ``axes.figure.savefig(...)`` keeps the picture.

    Examples
    --------
    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(8, 1, disorder="bimodal")
    >>> axes = pl.plot(glass, pl.ground_state(glass))
    >>> axes.get_title()
    'ground state, energy -74'
    >>> len(pl.plot(None, pl.thermodynamics(glass, [0.5, 1.0, 2.0])))
    3
    """
    require_one_of("what", what, ("auto", "gap"), ModelError)
    if what == "gap" or isinstance(result, LogPartition):
        return _gap(result, axes)
    if isinstance(result, Thermodynamics):
        return _sweep(result, axes)
    ising, where = _layout(model)
    states = None
    if not isinstance(result, GroundState | DomainWall | RigidEdges | Marginals | None):
        states = _as_states(result)
        if states.ndim == 2 and len(states) > 1:
            return _samples(ising, where, states, axes)
    place = _own(axes)
    if result is None:
        _model(place, ising, where)
    elif isinstance(result, GroundState):
        _state(place, ising, where, result.spins, _energy_title(result))
    elif isinstance(result, DomainWall):
        _wall(place, ising, where, result)
    elif isinstance(result, RigidEdges):
        _rigid(place, ising, where, result)
    elif isinstance(result, Marginals):
        _marginals(place, ising, where, result)
    elif states is not None:
        state = states.reshape(-1)
        title = f"state, energy {model.energy(state):.6g}" if model is ising else "state"
        _state(place, ising, where, state, title)
    return _write_names(place, ising, where)


def _write_names(axes: Any, model: IsingModel, where: FloatArray) -> Any:
    """Write the names of spins beside them, where they are words and few."""
    if model.num_spins <= NAMED and all(isinstance(name, str) for name in model.labels):
        for name, place in zip(model.labels, where.tolist(), strict=True):
            axes.annotate(name, place, (5, 4), textcoords="offset points", fontsize=8, zorder=4)
    return axes


def _own(axes: Any) -> Any:
    return new_figure()[1][0, 0] if axes is None else axes


def _as_states(result: Any) -> Array:
    """Return states as an array of spins, one row each."""
    states = np.asarray(result)
    if not np.issubdtype(states.dtype, np.number) or not 1 <= states.ndim <= 2:
        msg = (
            "`result` must be what a verb returned, a state or samples of shape (k, n), "
            f"got {type(result).__name__}"
        )
        raise ModelError(msg)
    return states if (states < 0).any() else 2 * (states > 0) - 1


def _layout(model: Any) -> tuple[IsingModel, FloatArray]:
    """Return the spins of a model and a place for each of them."""
    ising = _as_spins(model) if isinstance(model, MarkovRandomField) else model
    if not isinstance(ising, IsingModel):
        msg = f"`model` must be a model to draw states on, got {type(model).__name__}"
        raise ModelError(msg)
    return ising, positions_of(ising)


def _as_spins(mrf: MarkovRandomField) -> IsingModel:
    """Return couplings that pull as the factors do; zero potentials pull as far as floats show."""
    if not (mrf.is_binary and mrf.is_pairwise):
        msg = "only models of two labels and pairs can be drawn; plot a bound with what='gap'"
        raise ModelError(msg)
    view = mrf.pairwise_view()
    pairs = np.maximum(view.edge_logs.reshape(-1, 2, 2), -STRONGEST)
    single = np.maximum(view.node_logs.reshape(-1, 2), -STRONGEST)
    couplings = (pairs[:, 0, 0] + pairs[:, 1, 1] - pairs[:, 0, 1] - pairs[:, 1, 0]) / 4
    fields = (single[:, 1] - single[:, 0]) / 2
    lean = (pairs[:, 1, 1] - pairs[:, 0, 0])[:, None] / 4
    tilt = (pairs[:, 1, 0] - pairs[:, 0, 1])[:, None] / 4
    np.add.at(fields, view.edges, np.concatenate([lean + tilt, lean - tilt], axis=1))
    count = mrf.num_variables
    return IsingModel(view.edges, couplings, fields, num_spins=count, labels=mrf.labels)


def _lines(axes: Any, where: FloatArray, edges: Array, values: Any = None, **style: Any) -> Any:
    from matplotlib.collections import LineCollection

    ends, owner = segments(where, edges)
    if np.ndim(style.get("linewidths", 0.0)):
        style["linewidths"] = style["linewidths"][owner]
    lines = LineCollection(list(ends), **style)
    if values is not None:
        lines.set_array(values[owner])
    return axes.add_collection(lines)


def _finish(axes: Any, title: str) -> Any:
    axes.set_title(title)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()
    return axes


def _dots(axes: Any, where: FloatArray, count: int, **style: Any) -> Any:
    size = min(max(2.0, 6000 / max(count, 1)), 60)
    x, y = where.T
    return axes.scatter(x, y, s=size, edgecolors=DOWN, linewidths=0.5, zorder=3, **style)


def _model(axes: Any, model: IsingModel, where: FloatArray) -> Any:
    signs = np.sign(model.couplings)
    scale = float(np.abs(model.couplings).max(initial=0.0)) or 1.0
    width = 0.4 + 2.0 * np.abs(model.couplings) / scale
    signed = ((1, DOWN), (-1, BROKEN), (0, EDGE))
    for sign, colour in signed:
        chosen = signs == sign
        _lines(axes, where, model.edges[chosen], colors=colour, linewidths=width[chosen])
    most = float(np.abs(model.fields).max(initial=0.0)) or 1.0
    fields = _dots(
        axes, where, model.num_spins, c=model.fields, cmap="coolwarm", vmin=-most, vmax=most
    )
    if model.has_fields:
        axes.figure.colorbar(fields, ax=axes, shrink=0.7, label="external field")
    names = {1: "J > 0: ends alike", -1: "J < 0: ends differ"}
    explain(axes, lines=[(colour, names[s]) for s, colour in signed[:2] if (signs == s).any()])
    return _finish(axes, "couplings and fields" if model.has_fields else "couplings")


def _energy_title(result: GroundState) -> str:
    kind = "ground state" if result.exact else f"state, minimum ≥ {result.lower:.6g}"
    return f"{kind}, energy {result.energy:.6g}"


def _plane(model: IsingModel) -> Embedding | None:
    try:
        return embed(model)
    except (CrossingError, NotPlanarError):
        return None


def _state(
    axes: Any, model: IsingModel, where: FloatArray, spins: Array, title: str, key: bool = True
) -> Any:
    if spins.shape != (model.num_spins,):
        msg = f"`result` must have {model.num_spins} spins, got shape {spins.shape}"
        raise ModelError(msg)
    shape = drawn_shape(where)
    if shape is not None and model.num_spins > LARGE:
        draw_spins(axes, spins, shape)
        axes.set_title(title)
        return axes
    embedding = _plane(model) if model.positions is not None and not model.has_fields else None
    frustrated = embedding is not None and not np.all(model.couplings >= 0)
    u, v = model.edges.T
    unsatisfied = model.couplings * spins[u] * spins[v] < 0
    if frustrated and embedding is not None:
        draw_frustration(axes, model, spins, embedding)
        axes.set_title(title)
    else:
        _lines(axes, where, model.edges[~unsatisfied], colors=EDGE, linewidths=0.6)
        _lines(axes, where, model.edges[unsatisfied], colors=BROKEN, linewidths=2.0)
        _dots(axes, where, model.num_spins, c=np.where(spins > 0, UP, DOWN))
        _finish(axes, title)
    if key:
        faces = ["frustrated face"] if frustrated else []
        broken = [(BROKEN, "unsatisfied edge")] if unsatisfied.any() else []
        explain(axes, dots=[(UP, "+1"), (DOWN, "−1")], lines=broken, faces=faces)
    return axes


def _wall(axes: Any, model: IsingModel, where: FloatArray, wall: DomainWall) -> Any:
    _lines(axes, where, model.edges[~wall.edges], colors=EDGE, linewidths=0.6)
    _lines(axes, where, model.edges[wall.edges], colors=WALL, linewidths=2.2)
    _dots(axes, where, model.num_spins, c=np.where(wall.overlap > 0, UP, DOWN))
    dots = [(UP, "spin kept"), (DOWN, "spin turned")]
    explain(axes, dots=dots, lines=[(WALL, "edge the wall crosses")])
    return _finish(axes, f"domain wall of energy {wall.energy:.6g}")


def _rigid(axes: Any, model: IsingModel, where: FloatArray, found: RigidEdges) -> Any:
    kinds = (
        (found.rigid, DOWN, 2.0, "rigid: the same in all ground states"),
        (found.loose, WALL, 1.2, "loose"),
        (~(found.rigid | found.loose), EDGE, 0.6, "undecided"),
    )
    for chosen, colour, width, _ in kinds:
        _lines(axes, where, model.edges[chosen], colors=colour, linewidths=width)
    _dots(axes, where, model.num_spins, c=UP)
    explain(axes, lines=[(colour, name) for chosen, colour, _, name in kinds if chosen.any()])
    return _finish(axes, f"{int(found.rigid.sum())} of {model.num_edges} edges rigid")


def _marginals(axes: Any, model: IsingModel, where: FloatArray, found: Marginals) -> Any:
    nodes, edges = found.nodes, found.edges
    up = np.asarray(nodes if isinstance(nodes, np.ndarray) else [t[-1] for t in nodes])
    kind = "exact" if found.exact else "estimated"
    even, shape = bool(np.allclose(up, 0.5)), drawn_shape(where)
    if shape is not None and model.num_spins > LARGE and not even:
        image = axes.imshow(up.reshape(shape), cmap="coolwarm", vmin=0.0, vmax=1.0)
        axes.figure.colorbar(image, ax=axes, shrink=0.7, label="P(spin = +1)")
        return _finish(axes, f"marginals, {kind}")
    if isinstance(edges, np.ndarray) and len(edges):
        limits = {"cmap": "viridis", "clim": (0.0, 1.0)}
        lines = _lines(axes, where, model.edges, edges, linewidths=1.6, **limits)
        axes.figure.colorbar(lines, ax=axes, shrink=0.7, label="P(ends alike)")
    else:
        _lines(axes, where, model.edges, colors=EDGE, linewidths=0.6)
    dots = _dots(axes, where, model.num_spins, c=up, cmap="coolwarm", vmin=0.0, vmax=1.0)
    if not even:
        axes.figure.colorbar(dots, ax=axes, shrink=0.7, label="P(spin = +1)")
    return _finish(axes, f"marginals, {kind}" + ("; P(spin = +1) = 1/2" if even else ""))


def _samples(model: IsingModel, where: FloatArray, states: Array, axes: Any) -> Any:
    count = min(len(states), 6)
    grid = new_figure(1, count, size=3.0)[1][0] if axes is None else np.atleast_1d(axes)
    shape = drawn_shape(where)
    for k, (place, state) in enumerate(zip(grid, states, strict=False)):
        if shape is not None:
            draw_spins(place, state, shape)
            place.set_title(f"sample {k}")
        else:
            _state(place, model, where, state, f"sample {k}", key=False)
    return grid


def _sweep(sweep: Thermodynamics, axes: Any) -> Any:
    grid = new_figure(1, 3, size=3.6)[1][0] if axes is None else np.atleast_1d(axes)
    hot = np.isfinite(sweep.temperatures)
    order = np.flatnonzero(hot)[np.argsort(sweep.temperatures[hot])]
    t = sweep.temperatures[order]
    said = " (estimated)" if sweep.estimated.any() else ""
    if not said and not sweep.exact.all():
        said = f" ({int(sweep.exact.sum())} of {len(sweep.exact)} exact)"
    for place, name in zip(grid, ("energy", "entropy", "specific_heat"), strict=False):
        values = getattr(sweep, name)[order]
        place.plot(t, values, color=DOWN, marker="o", ms=3)
        if len(values) and np.isnan(values).all():
            place.text(0.5, 0.5, "not known", ha="center", transform=place.transAxes)
            place.set(xlim=(t.min() - 0.5, t.max() + 0.5), yticks=[])
        if name == "energy" and len(sweep.energy_lower) == len(sweep.energy):
            low, high = sweep.energy_lower[order], sweep.energy_upper[order]
            place.fill_between(t, low, high, color=DOWN, alpha=0.15, linewidth=0)
        place.set(xlabel="temperature 1/β", title=name.replace("_", " ") + said)
    return grid


def _gap(result: Any, axes: Any) -> Any:
    if not hasattr(result, "lower") or not hasattr(result, "upper"):
        msg = f"`result` must have an interval, got {type(result).__name__}"
        raise ModelError(msg)
    place = _own(axes)
    what = "log Z" if isinstance(result, LogPartition) else "energy"
    trace = list(getattr(result, "trace", ()))
    if len(trace) > 1:
        against = "seconds" if "seconds" in trace[0] else "round"
        draw_trace(place, trace, against=against, label=f"bounds on {what}")
    else:
        value = getattr(result, "value", result.upper)
        ends = [[value - result.lower], [result.upper - value]]
        place.errorbar([value], [0], xerr=ends, marker="o", capsize=8, color=DOWN)
        place.set_yticks([])
        place.set_xlabel(what)
        place.ticklabel_format(axis="x", useOffset=False)
        place.locator_params(axis="x", nbins=3)
        if result.exact:
            place.set_xlim(value - 1.0, value + 1.0)  # what is left is rounding, not worth a scale
    gap = result.upper - result.lower
    place.set_title(f"{what}, exact" if result.exact else f"{what}, interval of width {gap:.4g}")
    return place
