"""``planaris.plot``: one function that draws models and everything the verbs return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.embed import Embedding, embed
from planaris.errors import CrossingError, ModelError, NotPlanarError
from planaris.infer import DomainWall
from planaris.models import IsingModel, MarkovRandomField
from planaris.report.pictures import (
    DOWN,
    UP,
    WALL,
    draw_frustration,
    draw_spins,
    draw_trace,
    new_figure,
)
from planaris.result import GroundState, LogPartition, Marginals, Thermodynamics
from planaris.typing import Array, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = 4000
"""Spins from which a lattice is drawn as an image, not as dots and lines."""


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
        :class:`~planaris.infer.DomainWall`, a :class:`~planaris.result.Thermodynamics` (curves
        over temperature) or a :class:`~planaris.result.LogPartition` (how its interval closed).
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
    if what not in ("auto", "gap"):
        msg = f"`what` must be 'auto' or 'gap', got {what!r}"
        raise ModelError(msg)
    if what == "gap" or isinstance(result, LogPartition):
        return _gap(result, axes)
    if isinstance(result, Thermodynamics):
        return _sweep(result, axes)
    ising, where = _layout(model)
    if result is None:
        return _model(_own(axes), ising, where)
    if isinstance(result, GroundState):
        return _state(_own(axes), ising, where, result.spins, _energy_title(result))
    if isinstance(result, DomainWall):
        return _wall(_own(axes), ising, where, result)
    if isinstance(result, Marginals):
        return _marginals(_own(axes), ising, where, result)
    states = np.asarray(result)
    if states.ndim == 2 and len(states) > 1:
        return _samples(ising, where, states, axes)
    return _state(_own(axes), ising, where, states.reshape(-1), "state")


def _own(axes: Any) -> Any:
    return new_figure()[1][0, 0] if axes is None else axes


def _layout(model: Any) -> tuple[IsingModel, FloatArray]:
    """Return the spins of a model and a place for each of them."""
    if isinstance(model, MarkovRandomField):
        if not (model.is_binary and model.is_pairwise):
            msg = "only models of two labels and pairs can be drawn; plot a bound with what='gap'"
            raise ModelError(msg)
        view = model.pairwise_view()
        model = IsingModel(view.edges, 1.0, num_spins=model.num_variables)
    if not isinstance(model, IsingModel):
        msg = f"`model` must be a model to draw states on, got {type(model).__name__}"
        raise ModelError(msg)
    return model, model.positions if model.positions is not None else spring_layout(model)


def spring_layout(model: IsingModel) -> FloatArray:
    """Return places for the spins of a model without positions: plane where that is possible.

    >>> spring_layout(IsingModel([(0, 1), (1, 2)], 1.0)).shape
    (3, 2)
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(model.num_spins))
    graph.add_edges_from(model.edges.tolist())
    planar, _ = nx.check_planarity(graph)
    start = nx.planar_layout(graph) if planar and model.num_spins else None
    few = model.num_spins <= LARGE
    found = nx.spring_layout(graph, pos=start, seed=0, iterations=50) if few else start
    found = nx.random_layout(graph, seed=0) if found is None else found
    return np.array([found[v] for v in range(model.num_spins)]).reshape(-1, 2)


def _grid_shape(model: IsingModel, where: FloatArray) -> tuple[int, int] | None:
    """Return (rows, columns) where the spins lie on a full grid, row by row."""
    columns = len(np.unique(where[:, 0]))
    rows = len(np.unique(where[:, 1]))
    if not rows * columns == model.num_spins > 0:
        return None
    r, c = np.divmod(np.arange(model.num_spins), columns)
    same = np.allclose(where, np.column_stack([c, -r]))
    return (rows, columns) if same else None


def _lines(axes: Any, ends: Array, values: Any = None, **style: Any) -> Any:
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(ends), **style)
    if values is not None:
        lines.set_array(values)
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
    ends, signs = where[model.edges], np.sign(model.couplings)
    scale = float(np.abs(model.couplings).max(initial=0.0)) or 1.0
    width = 0.4 + 2.0 * np.abs(model.couplings) / scale
    for sign, colour in ((1, DOWN), (-1, WALL), (0, "#bbbbbb")):
        chosen = signs == sign
        _lines(axes, ends[chosen], colors=colour, linewidths=width[chosen])
    most = float(np.abs(model.fields).max(initial=0.0)) or 1.0
    _dots(axes, where, model.num_spins, c=model.fields, cmap="coolwarm", vmin=-most, vmax=most)
    return _finish(axes, "couplings and fields")


def _energy_title(result: GroundState) -> str:
    kind = "ground state" if result.exact else f"state, minimum ≥ {result.lower:.6g}"
    return f"{kind}, energy {result.energy:.6g}"


def _plane(model: IsingModel) -> Embedding | None:
    try:
        return embed(model)
    except (CrossingError, NotPlanarError):
        return None


def _state(axes: Any, model: IsingModel, where: FloatArray, spins: Array, title: str) -> Any:
    if spins.shape != (model.num_spins,):
        msg = f"`result` must have {model.num_spins} spins, got shape {spins.shape}"
        raise ModelError(msg)
    if set(np.unique(spins).tolist()) <= {0, 1}:
        spins = 2 * spins - 1
    shape = _grid_shape(model, where)
    if shape is not None and model.num_spins > LARGE:
        draw_spins(axes, spins, shape)
        axes.set_title(title)
        return axes
    embedding = _plane(model) if model.positions is not None and not model.has_fields else None
    if embedding is not None and not np.all(model.couplings >= 0):
        draw_frustration(axes, model, spins, embedding)
        axes.set_title(title)
        return axes
    u, v = model.edges.T
    unsatisfied = model.couplings * spins[u] * spins[v] < 0
    ends = where[model.edges]
    _lines(axes, ends[~unsatisfied], colors="#bbbbbb", linewidths=0.6)
    _lines(axes, ends[unsatisfied], colors=WALL, linewidths=2.0)
    _dots(axes, where, model.num_spins, c=np.where(spins > 0, UP, DOWN))
    return _finish(axes, title)


def _wall(axes: Any, model: IsingModel, where: FloatArray, wall: DomainWall) -> Any:
    ends = where[model.edges]
    short = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    near = short <= 1.5 * np.median(short) if len(short) else np.zeros(0, dtype=bool)
    _lines(axes, ends[~wall.edges & near], colors="#bbbbbb", linewidths=0.6)
    _lines(axes, ends[wall.edges], colors=WALL, linewidths=2.2)
    _dots(axes, where, model.num_spins, c=np.where(wall.overlap > 0, UP, DOWN))
    return _finish(axes, f"domain wall of energy {wall.energy:.6g}")


def _marginals(axes: Any, model: IsingModel, where: FloatArray, found: Marginals) -> Any:
    nodes, edges = found.nodes, found.edges
    up = np.asarray(nodes if isinstance(nodes, np.ndarray) else [t[-1] for t in nodes])
    ends = where[model.edges]
    if isinstance(edges, np.ndarray):
        lines = _lines(axes, ends, edges, cmap="viridis", linewidths=1.6, clim=(0.0, 1.0))
        axes.figure.colorbar(lines, ax=axes, shrink=0.7, label="P(ends alike)")
    else:
        _lines(axes, ends, colors="#bbbbbb", linewidths=0.6)
    _dots(axes, where, model.num_spins, c=up, cmap="coolwarm", vmin=0.0, vmax=1.0)
    kind = "exact" if found.exact else "estimated"
    return _finish(axes, f"marginals, {kind}")


def _samples(model: IsingModel, where: FloatArray, states: Array, axes: Any) -> Any:
    count = min(len(states), 6)
    grid = new_figure(1, count, size=3.0)[1][0] if axes is None else np.atleast_1d(axes)
    shape = _grid_shape(model, where)
    for k, (place, state) in enumerate(zip(grid, states, strict=False)):
        if shape is not None:
            draw_spins(place, np.where(state > 0, 1, -1), shape)
            place.set_title(f"sample {k}")
        else:
            _state(place, model, where, state, f"sample {k}")
    return grid


def _sweep(sweep: Thermodynamics, axes: Any) -> Any:
    grid = new_figure(1, 3, size=3.6)[1][0] if axes is None else np.atleast_1d(axes)
    hot = np.isfinite(sweep.temperatures)
    order = np.flatnonzero(hot)[np.argsort(sweep.temperatures[hot])]
    t = sweep.temperatures[order]
    for place, name in zip(grid, ("energy", "entropy", "specific_heat"), strict=False):
        place.plot(t, getattr(sweep, name)[order], color=DOWN, marker="o", ms=3)
        if name == "energy" and len(sweep.energy_lower) == len(sweep.energy):
            low, high = sweep.energy_lower[order], sweep.energy_upper[order]
            place.fill_between(t, low, high, color=DOWN, alpha=0.15, linewidth=0)
        title = name.replace("_", " ") + (" (estimated)" if sweep.estimated.any() else "")
        place.set(xlabel="temperature 1/β", title=title)
    return grid


def _gap(result: Any, axes: Any) -> Any:
    place = _own(axes)
    trace = list(getattr(result, "trace", ()))
    if trace:
        draw_trace(place, trace, against="seconds" if "seconds" in trace[0] else "round")
    elif not hasattr(result, "lower"):
        msg = f"`result` must have an interval, got {type(result).__name__}"
        raise ModelError(msg)
    else:
        value = getattr(result, "value", result.upper)
        ends = [[value - result.lower], [result.upper - value]]
        place.errorbar([0], [value], ends, marker="o", capsize=8, color=DOWN)
        place.set_xticks([])
        place.set_ylabel("interval")
    place.set_title("exact" if result.exact else f"gap {result.upper - result.lower:.4g}")
    return place
