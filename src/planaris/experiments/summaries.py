"""Small sums over stored results that several figures draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from planaris.experiments.figure import Record, Result

PALETTE = ("#3d7dca", "#d1495b", "#d98e04", "#2a9d6f", "#8d5fd3", "#7a8793", "#c2479b")
"""Colours that can be told apart, on white and on black."""


def spread(
    results: Sequence[Result], by: str, value: Callable[[Record], float]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Group results by a parameter: its values in order, least, median and most of each group.

    >>> results = [Result({"x": 1}, {"y": 2.0}), Result({"x": 1}, {"y": 4.0})]
    >>> spread(results, "x", lambda record: record["y"])
    ([1], [2.0], [3.0], [4.0])
    """
    groups = _groups(results, by, value)
    return (
        list(groups),
        [min(group) for group in groups.values()],
        [float(np.median(group)) for group in groups.values()],
        [max(group) for group in groups.values()],
    )


def means(
    results: Sequence[Result], by: str, value: Callable[[Record], float]
) -> tuple[list[float], list[float], list[float]]:
    """Group results by a parameter: its values in order, mean and standard error of each group.

    >>> results = [Result({"x": 1}, {"y": 2.0}), Result({"x": 1}, {"y": 4.0})]
    >>> means(results, "x", lambda record: record["y"])
    ([1], [3.0], [1.0])
    """
    groups = _groups(results, by, value)
    errors = [
        float(np.std(group, ddof=1) / np.sqrt(len(group))) if len(group) > 1 else 0.0
        for group in groups.values()
    ]
    return list(groups), [float(np.mean(group)) for group in groups.values()], errors


def slope(results: Sequence[Result], by: str, value: Callable[[Record], float]) -> float:
    """Return the exponent of a power law fitted to the larger half of the sizes.

    >>> results = [Result({"n": n}, {"t": n**2}) for n in (1, 2, 4, 8)]
    >>> round(slope(results, "n", lambda record: record["t"]), 6)
    2.0
    """
    sizes, _, middle, _ = spread(results, by, value)
    half = len(sizes) // 2
    if len(sizes) - half < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[half:]), np.log(middle[half:]), 1)[0])


def _groups(
    results: Sequence[Result], by: str, value: Callable[[Record], float]
) -> dict[float, list[float]]:
    groups: dict[float, list[float]] = {}
    for result in results:
        groups.setdefault(result.params[by], []).append(value(result.record))
    return dict(sorted(groups.items()))
