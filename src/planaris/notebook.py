"""How models and results look in a notebook: a small picture in SVG and a table of facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from planaris.show import one_line, short, shown_fields

DRAWN_SIZE = 220
"""Pixels of the longer side of a drawing."""

MOST_DRAWN = 3000
"""Edges that a picture may have."""

MOST_SQUARES = 40_000
"""Spins that a picture may have; those of one colour in a row are one shape."""

ON_CIRCLE = 80
"""Graphs without positions are drawn on a circle up to this many vertices."""

UP, DOWN, NEGATIVE = "#f2efe6", "#4478b0", "#d1495b"
"""Colours that are seen on white and on black."""

GREY = "#8b949e"


def facts_html(title: str, facts: Mapping[str, Any], picture: str = "") -> str:
    """Return a table of facts, with a picture beside it, as HTML.

    >>> facts_html("a <model>", {"spins": 3}).count("&lt;model&gt;")
    1
    """
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    table = f"<table><caption><b>{escape(title)}</b></caption>{rows}</table>"
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:1em;align-items:center'>"
        f"{picture}{table}</div>"
    )


class Shown:
    """A dataclass that prints in one line, and shows its fields as a table in a notebook."""

    __repr__ = one_line

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, shown_facts(self))


def shown_facts(result: Any) -> dict[str, str]:
    """Return the fields of a dataclass or named tuple in words; numbers with ten digits."""
    values = {name: getattr(result, name) for name in shown_fields(result)}
    there = {k: v for k, v in values.items() if not (isinstance(v, np.ndarray) and v.size == 0)}
    return {name.replace("_", " "): _fact(value) for name, value in there.items()}


def _fact(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    return value if isinstance(value, str) else short(value)


def graph_svg(
    positions: np.ndarray | None,
    num_vertices: int,
    edges: np.ndarray,
    couplings: np.ndarray,
) -> str:
    """Return a small drawing of a graph: dots, and edges coloured by sign; "" if too large.

    >>> graph_svg(None, 2, np.array([[0, 1]]), np.array([-1.0])).count("<line")
    1
    """
    if positions is None and num_vertices <= ON_CIRCLE:
        turn = 2 * np.pi * np.arange(num_vertices) / max(num_vertices, 1)
        positions = np.column_stack([np.sin(turn), np.cos(turn)])
    if positions is None or not 0 < num_vertices <= MOST_DRAWN or len(edges) > MOST_DRAWN:
        return ""
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = np.maximum(high - low, 0.0)
    scale = (DRAWN_SIZE - 20) / max(float(extent.max()), 1e-12)
    x = 10 + scale * (positions[:, 0] - low[0])
    y = 10 + scale * (high[1] - positions[:, 1])
    over = _lie_over(positions, edges)
    lines = "".join(
        f'<line x1="{x[u]:.1f}" y1="{y[u]:.1f}" x2="{x[v]:.1f}" y2="{y[v]:.1f}" '
        f'stroke="{NEGATIVE if j < 0 else DOWN}"/>'
        for (u, v), j, hides in zip(edges.tolist(), couplings.tolist(), over, strict=True)
        if not hides
    )
    radius = min(4.0, 60 / num_vertices**0.5)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}" fill="{UP}" stroke="{DOWN}"/>'
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    )
    return _svg(DRAWN_SIZE, round(20 + scale * extent[1]), lines + dots, "graph of the model")


def _lie_over(positions: np.ndarray, edges: np.ndarray) -> list[bool]:
    """Return which edges run along a row or column past other vertices, as around a torus."""
    if not len(edges):
        return []
    step = np.abs(np.diff(positions[edges], axis=1)[:, 0])
    straight = (step < 1e-9).any(axis=1)
    usual = float(np.median(step.max(axis=1)))
    found: list[bool] = (straight & (step.max(axis=1) > 1.5 * usual)).tolist()
    return found


def interval_svg(lower: float, upper: float, value: float) -> str:
    """Return an interval with a value in it, and its ends; "" where an end is not finite.

    >>> "circle" in interval_svg(0.0, 2.0, 0.5)
    True
    """
    if not np.isfinite([lower, upper, value]).all() or upper <= lower:
        return ""
    at = 15 + 210 * min(max((value - lower) / (upper - lower), 0.0), 1.0)
    bar = f'<line x1="15" y1="12" x2="225" y2="12" stroke="{DOWN}" stroke-width="4"/>'
    dot = f'<circle cx="{at:.1f}" cy="12" r="6" fill="{NEGATIVE}"/>'
    ends = _text(15, 34, f"{lower:.6g}", "start") + _text(225, 34, f"{upper:.6g}", "end")
    return _svg(240, 40, bar + dot + ends, "interval")


def trace_svg(trace: Sequence[Mapping[str, Any]]) -> str:
    """Return how an interval closed over time; "" where that is not known.

    >>> steps = [{"seconds": 0.1, "lower": 0, "upper": 2}, {"seconds": 0.2, "lower": 1, "upper": 2}]
    >>> trace_svg(steps).count("<polyline")
    2
    """
    against = "seconds" if trace and "seconds" in trace[0] else "round"
    ends = []
    for name in ("upper", "lower"):
        values = [(float(step[against]), float(step.get(name, math.nan))) for step in trace]
        ends.append([point for point in values if math.isfinite(point[1])])
    points = [point for end in ends for point in end]
    if not all(ends) or min(len({x for x, _ in points}), len({y for _, y in points})) < 2:
        return ""
    return _panel(ends, [NEGATIVE, DOWN], "bounds", against)


def curves_svg(along: str, x: np.ndarray, curves: Mapping[str, np.ndarray]) -> str:
    """Return a panel for every curve over ``x``; "" for a single point.

    >>> curves_svg("β", np.array([1.0, 2.0]), {"energy": np.array([0.0, 1.0])}).count("<svg")
    1
    """
    order = np.argsort(x)
    panels = []
    for name, values in curves.items():
        points = [
            (float(a), float(b))
            for a, b in zip(x[order], values[order], strict=True)
            if math.isfinite(a) and math.isfinite(b)
        ]
        if len(points) > 1:
            panels.append(_panel([points], [DOWN], name, along))
    return "".join(panels)


def _panel(
    lines: list[list[tuple[float, float]]], colours: list[str], label: str, along: str
) -> str:
    """Return lines in a frame, with the range of both axes."""
    x = [point[0] for line in lines for point in line]
    y = [point[1] for line in lines for point in line]
    wide, tall = max(max(x) - min(x), 1e-300), max(max(y) - min(y), 1e-300)
    drawn = ""
    for line, colour in zip(lines, colours, strict=True):
        spots = " ".join(
            f"{10 + 160 * (a - min(x)) / wide:.1f},{95 - 70 * (b - min(y)) / tall:.1f}"
            for a, b in line
        )
        drawn += f'<polyline points="{spots}" fill="none" stroke="{colour}" stroke-width="2"/>'
    frame = f'<rect x="10" y="20" width="160" height="80" fill="none" stroke="{GREY}"/>'
    said = _text(90, 13, f"{label}, {min(y):.4g} to {max(y):.4g}")
    said += _text(10, 114, f"{min(x):.3g}", "start") + _text(170, 114, f"{max(x):.3g}", "end")
    said += _text(90, 114, along)
    return _svg(180, 118, frame + drawn + said, label)


def histogram_svg(values: Sequence[float] | np.ndarray, label: str) -> str:
    """Return a histogram of probabilities.

    >>> histogram_svg([0.0, 0.5, 1.0], "P(s = +1)").count("<rect")
    10
    """
    counts = np.histogram(values, bins=10, range=(0.0, 1.0))[0]
    tall = max(int(counts.max(initial=0)), 1)
    bars = "".join(
        f'<rect x="{10 + 16 * k}" y="{70 - 60 * c / tall:.1f}" width="14" '
        f'height="{60 * c / tall:.1f}" fill="{DOWN}"/>'
        for k, c in enumerate(counts.tolist())
    )
    axis = f'<line x1="8" y1="70.5" x2="172" y2="70.5" stroke="{GREY}"/>'
    said = _text(12, 84, "0") + _text(168, 84, "1") + _text(90, 84, label)
    return _svg(180, 90, bars + axis + said, f"histogram of {label} from 0 to 1")


def labels_svg(labels: np.ndarray, num_labels: int) -> str:
    """Return labels as squares, light for the largest and dark for 0; "" if too many.

    They stand in the order of the model, in a square where their number is one.

    >>> labels_svg(np.array([1, 0, 0]), 2).count("<path")
    2
    """
    count = len(labels)
    if not 0 < count <= MOST_SQUARES or num_labels < 1:
        return ""
    root = math.isqrt(count)
    columns = root if root * root == count else min(count, 40)
    rows, side = -(-count // columns), min(180 / columns, 20.0)
    runs: dict[int, list[str]] = {}
    for row in range(rows):
        line = labels[row * columns : (row + 1) * columns]
        starts = np.flatnonzero(np.diff(line, prepend=line[0] - 1))
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            runs.setdefault(int(line[start]), []).append(f"M{start} {row}h{end - start}v1H{start}z")
    shapes = "".join(
        f'<path d="{"".join(parts)}" fill="{_shade(label, num_labels)}"/>'
        for label, parts in sorted(runs.items())
    )
    inside = f'<g transform="scale({side:.4f})" shape-rendering="crispEdges">{shapes}</g>'
    return _svg(round(columns * side), math.ceil(rows * side), inside, "labels in their order")


def _shade(label: int, num_labels: int) -> str:
    dark, light = ([int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (DOWN, UP))
    share = label / max(num_labels - 1, 1)
    mixed = (round(a + (b - a) * share) for a, b in zip(dark, light, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _text(x: float, y: float, said: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="11" text-anchor="{anchor}" '
        f'fill="currentColor">{escape(said)}</text>'
    )


def _svg(width: int, height: int, inside: str, label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">{inside}</svg>'
    )
