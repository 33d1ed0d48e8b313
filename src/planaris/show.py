"""How results look when they are printed: one line each, however large their arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

SHORT = 6
"""Arrays with at most this many entries are written out."""


def one_line(result: Any) -> str:
    """Return a dataclass or named tuple in one line; larger arrays by type and shape.

    Examples
    --------
    >>> from planaris.result import GroundState
    >>> from planaris.models import IsingModel
    >>> model = IsingModel([(0, 1), (1, 2)], [0.5, 0.5])
    >>> GroundState.of(model, np.ones(3, np.int8), -1.0, method="by hand")
    GroundState(spins=[1, 1, 1], energy=-1.0, lower=-1.0, upper=-1.0, exact=True, method='by hand')
    >>> large = IsingModel([(0, 1)], [1.0], num_spins=900)
    >>> print(one_line(GroundState.of(large, np.ones(900, np.int8), -2.0, method="by hand")))
    GroundState(spins=int8[900], energy=-1.0, lower=-2.0, upper=-1.0, exact=False, method='by hand')
    """
    if getattr(result, "SHOWN", ()):
        names = list(result.SHOWN)
    elif dataclasses.is_dataclass(result):
        names = [field.name for field in dataclasses.fields(result) if field.repr]
    else:
        names = list(result._fields)
    shown = (f"{name}={_short(getattr(result, name))}" for name in names)
    return f"{type(result).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.ndim < 2 and value.size <= SHORT:
            return repr(value.tolist())
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list | tuple) and len(value) > 0:
        if any(isinstance(item, np.ndarray) for item in value):
            return f"[{len(value)} arrays]"
        return repr(value) if len(value) <= SHORT else f"[{len(value)} entries]"
    return repr(value)


def many(count: int, thing: str) -> str:
    """Return a number of things in words.

    >>> many(1, "edge"), many(2, "edge"), many(0, "edge")
    ('1 edge', '2 edges', '0 edges')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"


# -- notebooks ------------------------------------------------------------------------------------

MOST_DRAWN = 3000
"""Edges that a picture in a notebook may have."""

UP, DOWN, WALL = "#f2efe6", "#2c4a6e", "#d1495b"


def facts_html(title: str, facts: dict[str, Any], picture: str = "") -> str:
    """Return a table of facts, with a picture beside it, as HTML for notebooks.

    >>> facts_html("a <model>", {"spins": 3}).count("&lt;model&gt;")
    1
    """
    from html import escape

    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    table = f"<table><caption><b>{escape(title)}</b></caption>{rows}</table>"
    return f"<div style='display:flex;gap:1em;align-items:center'>{picture}{table}</div>"


def graph_svg(
    positions: np.ndarray, edges: np.ndarray, couplings: np.ndarray, *, size: int = 220
) -> str:
    """Return a small drawing of a graph as SVG: dots, and edges coloured by sign; "" if too large.

    >>> graph_svg(np.array([[0.0, 0], [1, 0]]), np.array([[0, 1]]), np.array([-1.0])).count("<line")
    1
    """
    if len(positions) == 0 or len(edges) > MOST_DRAWN or len(positions) > MOST_DRAWN:
        return ""
    low, high = positions.min(axis=0), positions.max(axis=0)
    scale = (size - 20) / max(float((high - low).max()), 1e-12)
    x, y = (10 + scale * (positions - low) * [1, 1]).T
    y = size - y
    lines = "".join(
        f'<line x1="{x[u]:.1f}" y1="{y[u]:.1f}" x2="{x[v]:.1f}" y2="{y[v]:.1f}" '
        f'stroke="{WALL if j < 0 else DOWN}" stroke-opacity="0.7"/>'
        for (u, v), j in zip(edges.tolist(), couplings.tolist(), strict=True)
    )
    radius = min(4.0, 60 / max(len(positions), 1) ** 0.5)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}" fill="{UP}" stroke="{DOWN}"/>'
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    )
    return _svg(size, size, lines + dots, "graph of the model")


def interval_svg(lower: float, upper: float, value: float) -> str:
    """Return an interval with a value in it as SVG; "" where an end is not finite.

    >>> "circle" in interval_svg(0.0, 2.0, 0.5)
    True
    """
    if not np.isfinite([lower, upper, value]).all():
        return ""
    share = 0.5 if upper == lower else (value - lower) / (upper - lower)
    at = 10 + 160 * min(max(share, 0.0), 1.0)
    bar = f'<line x1="10" y1="20" x2="170" y2="20" stroke="{DOWN}" stroke-width="4"/>'
    dot = f'<circle cx="{at:.1f}" cy="20" r="6" fill="{WALL}"/>'
    return _svg(180, 40, bar + dot, "interval")


def histogram_svg(values: np.ndarray) -> str:
    """Return a histogram of probabilities as SVG.

    >>> histogram_svg(np.array([0.0, 0.5, 1.0])).count("<rect")
    10
    """
    counts = np.histogram(values, bins=10, range=(0.0, 1.0))[0]
    tall = max(int(counts.max(initial=0)), 1)
    bars = "".join(
        f'<rect x="{10 + 16 * k}" y="{70 - 60 * c / tall:.1f}" width="14" '
        f'height="{60 * c / tall:.1f}" fill="{DOWN}"/>'
        for k, c in enumerate(counts.tolist())
    )
    return _svg(180, 75, bars, "histogram of probabilities from 0 to 1")


def spins_svg(spins: np.ndarray) -> str:
    """Return spins as a strip of squares, +1 light and -1 dark, as SVG; "" if too many.

    >>> spins_svg(np.array([1, -1])).count("<rect")
    2
    """
    if not 0 < len(spins) <= MOST_DRAWN:
        return ""
    columns = int(np.ceil(np.sqrt(len(spins))))
    side = 180 / columns
    squares = "".join(
        f'<rect x="{k % columns * side:.2f}" y="{k // columns * side:.2f}" width="{side:.2f}" '
        f'height="{side:.2f}" fill="{UP if s > 0 else DOWN}"/>'
        for k, s in enumerate(spins.tolist())
    )
    rows = -(-len(spins) // columns)
    return _svg(180, max(int(rows * side), 1), squares, "spins in the order of the model")


def _svg(width: int, height: int, inside: str, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{inside}</svg>'
    )
