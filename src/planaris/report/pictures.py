"""Pictures of plane models: states, traces of intervals, and legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.embed import Embedding
from planaris.errors import ModelError, missing_extra
from planaris.models import IsingModel
from planaris.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UP, DOWN, BROKEN, FACE = "#f2efe6", "#2c4a6e", "#d1495b", "#edae49"
WALL, EDGE = "#00a0b4", "#bbbbbb"


def new_figure(rows: int = 1, columns: int = 1, size: float = 4.5) -> tuple[Any, Any]:
    """Return a matplotlib figure and its axes, drawn off screen.

    >>> figure, axes = new_figure(1, 2)
    >>> axes.shape
    (1, 2)
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra(package="matplotlib", extra="plot") from error
    figure = Figure(figsize=(columns * size, rows * size), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def new_axes(size: float = 4.5) -> tuple[Any, Any]:
    """Return a matplotlib figure of one panel, drawn off screen, and the axes of the panel.

    >>> figure, axes = new_axes(size=3.0)
    >>> axes.figure is figure
    True
    """
    figure, axes = new_figure(size=size)
    return figure, axes[0, 0]


def draw_frustration(axes: Axes, model: IsingModel, spins: ArrayLike, embedding: Embedding) -> None:
    """Draw a state: spins as dots, unsatisfied edges, and frustrated faces joined through them.

    The unsatisfied edges cross the strings that pair up the frustrated faces: the matching.

    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(6, 1, disorder="bimodal")
    >>> figure, axes = new_figure()
    >>> draw_frustration(axes[0, 0], glass, pl.ground_state(glass).spins, pl.embed.embed(glass))
    """
    from matplotlib.collections import LineCollection, PolyCollection

    where = _positions(model)
    s = np.asarray(spins)
    ends = where[model.edges]
    unsatisfied = model.couplings * s[model.edges[:, 0]] * s[model.edges[:, 1]] < 0
    negative = np.repeat(model.couplings < 0, 2)
    odd = np.bincount(embedding.face_of[negative], minlength=embedding.num_faces) % 2 == 1
    outer = int(np.argmax(np.diff(embedding.face_offsets)))
    tails = model.edges.ravel()[embedding.face_walk]
    polygons = [
        where[tails[embedding.face_offsets[f] : embedding.face_offsets[f + 1]]]
        for f in np.flatnonzero(odd)
        if f != outer
    ]
    axes.add_collection(PolyCollection(polygons, facecolors=FACE, alpha=0.45))
    axes.add_collection(LineCollection(list(ends[~unsatisfied]), colors=EDGE, linewidths=0.6))
    axes.add_collection(LineCollection(list(ends[unsatisfied]), colors=BROKEN, linewidths=2.2))
    size = max(2.0, 4000 / max(model.num_spins, 1))
    for value, colour in ((1, UP), (-1, DOWN)):
        x, y = where[s == value].T
        axes.scatter(x, y, s=min(size, 22), c=colour, edgecolors=DOWN, lw=0.5, zorder=3)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()


def draw_spins(axes: Axes, spins: ArrayLike, shape: tuple[int, int]) -> None:
    """Draw the spins of a rectangular lattice as an image, +1 light and -1 dark.

    >>> import planaris as pl
    >>> figure, axes = new_figure()
    >>> draw_spins(axes[0, 0], pl.sample(pl.generate.spin_glass(6, 1), 1, 0)[0], (6, 6))
    """
    from matplotlib.colors import ListedColormap

    image: Array = np.asarray(spins).reshape(shape)
    axes.imshow(image, cmap=ListedColormap([DOWN, UP]), vmin=-1, vmax=1, interpolation="nearest")
    axes.set_axis_off()


def explain(
    axes: Axes,
    *,
    dots: Sequence[tuple[str, str]] = (),
    lines: Sequence[tuple[str, str]] = (),
    faces: Sequence[str] = (),
) -> None:
    """Say below a picture what its colours mean: dots and lines as (colour, meaning).

    >>> figure, axes = new_figure()
    >>> explain(axes[0, 0], dots=[(UP, "+1"), (DOWN, "-1")], faces=["frustrated face"])
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dot: dict[str, Any] = {"marker": "o", "ls": "", "markeredgecolor": DOWN}
    keys: list[Any] = [Line2D([], [], color=colour, label=name, **dot) for colour, name in dots]
    keys += [Line2D([], [], color=colour, lw=2.2, label=name) for colour, name in lines]
    keys += [Patch(facecolor=FACE, alpha=0.45, label=name) for name in faces]
    if keys:
        style: dict[str, Any] = {"bbox_to_anchor": (0.5, 0.0), "frameon": False, "ncols": 2}
        axes.legend(handles=keys, loc="upper center", fontsize="small", **style)


def draw_trace(
    axes: Axes,
    trace: list[dict[str, Any]],
    *,
    against: str = "seconds",
    label: str = "bounds",
) -> None:
    """Draw how an interval closed: the ``trace`` in the stats of a relaxation or bound.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    trace : list of dict
        Records with ``lower`` or ``upper`` or both, and ``against``.
    against : {"seconds", "round"}
        The horizontal axis.
    label : str
        What the vertical axis shows.

    Examples
    --------
    >>> figure, axes = new_figure()
    >>> draw_trace(axes[0, 0], [{"seconds": 0.1, "lower": 1.0}, {"seconds": 0.2, "lower": 1.5}])
    """
    if not trace:
        msg = "`trace` must hold at least one record; the result was found without iterating"
        raise ModelError(msg)
    x = [record[against] for record in trace]
    for name, colour in (("upper", BROKEN), ("lower", DOWN)):
        if name in trace[0]:
            y = [record[name] for record in trace]
            axes.plot(x, y, marker="o", ms=3, color=colour, label=name, drawstyle="steps-post")
    axes.set_xlabel(against)
    axes.set_ylabel(label)
    axes.margins(y=0.1)
    _look_at_the_end(axes, trace)
    axes.legend(loc="best")


def _look_at_the_end(axes: Axes, trace: list[dict[str, Any]]) -> None:
    """Let crude first bounds run out of the picture where they would flatten the rest."""
    late = trace[len(trace) // 2 :]
    ends = [record[name] for record in late for name in ("lower", "upper") if name in record]
    known = [end for end in ends if np.isfinite(end)]
    low, high = axes.get_ylim()
    if known and 0.0 < max(known) - min(known) < 0.2 * (high - low):
        pad = 0.5 * (max(known) - min(known))
        axes.set_ylim(min(known) - pad, max(known) + pad)


def _positions(model: IsingModel) -> FloatArray:
    if model.positions is None:
        msg = "`model` must have positions to be drawn; pass positions= when you build it"
        raise ModelError(msg)
    return model.positions
