"""What the pictures of the recovery experiment share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planaris.experiments.figure import Record, Result
from planaris.experiments.summaries import means
from planaris.generate import square_lattice
from planaris.recover import single_flip_error

BAND = 1.96
"""Half a 95 % band in standard errors."""


def fit_exponent(results: Sequence[Result], kind: str) -> tuple[float, float]:
    """Return the exponent of error against p and half its 95 % interval.

    A weighted fit of log error on log p: errors of N nodes vary as the square root of a count.
    """
    p = np.array([r.params["p"] for r in results])
    error = np.array([r.record[kind]["two-step"] for r in results])
    use = error > 0
    if len(set(p[use].tolist())) < 2:
        return float("nan"), float("nan")
    x, y = np.log(p[use]), np.log(error[use])
    weight = error[use] / error[use].max()  # 1 / variance of log error
    mean = np.average(x, weights=weight)
    spread = float((weight * (x - mean) ** 2).sum())
    exponent = float((weight * (x - mean) * y).sum() / spread)
    rest = y - np.average(y, weights=weight) - exponent * (x - mean)
    freedom = max(len(x) - 2, 1)
    variance = float((weight * rest**2).sum()) / freedom / spread
    from scipy.stats import t

    return exponent, float(t.ppf(0.975, freedom)) * variance**0.5


def error_of(name: str) -> Callable[[Record], float]:
    """Return how to read the error of an estimator."""
    return lambda record: float(record["error"][name])


def mean_error_of(name: str) -> Callable[[Record], float]:
    """Return how to read the error of an estimator, mean over ties."""
    return lambda record: float(record["mean_error"][name])


def draw_band(
    axes: Any,
    results: Sequence[Result],
    by: str,
    value: Callable[[Record], float],
    label: str,
    colour: str,
) -> None:
    """Draw the mean of a value of records against a parameter, with its 95 % band."""
    draw_band_of(axes, results, by, lambda result: value(result.record), label, colour)


def draw_band_of(
    axes: Any,
    results: Sequence[Result],
    by: str,
    value: Callable[[Result], float],
    label: str,
    colour: str,
) -> None:
    """Draw the mean of a value of results against a parameter, with its 95 % band."""
    valued = [Result(r.params, {"value": value(r)}) for r in results]
    x, mean, error = means(valued, by, lambda record: float(record["value"]))
    middle, half = np.asarray(mean), BAND * np.asarray(error)
    axes.plot(x, middle, marker="o", ms=3, color=colour, label=label)
    axes.fill_between(x, np.maximum(middle - half, 0.0), middle + half, color=colour, alpha=0.2)


def set_ticks(axes: Any, places: Sequence[float]) -> None:
    """Name these places on the horizontal axis, and no others."""
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.minorticks_off()


def set_noise_axes(axes: Any, title: str, noises: Sequence[float], *, least: float = 5e-5) -> None:
    """Show shares of wrong labels over the edge noise, both on logarithmic scales."""
    axes.set_ylim(least, 0.7)  # before the scale: there may be no error at all
    axes.set(
        title=title,
        xlabel="edge noise p",
        ylabel="share of wrong labels",
        xscale="log",
        yscale="log",
    )
    set_ticks(axes, noises)


def table_rows(results: Sequence[Result], by: str, names: Sequence[str]) -> list[list[Any]]:
    """Return rows of mean errors, one per value of a parameter."""
    columns = [means(results, by, error_of(name))[:2] for name in names]
    return [[x, *(column[1][k] for column in columns)] for k, x in enumerate(columns[0][0])]


def size_of(results: Sequence[Result]) -> str:
    """Return the size of the grids in words."""
    size = results[0].params["size"]
    return f"{size}×{size}"


def isolated_error(size: int, p: float) -> float:
    """Return the share of nodes of a grid that are wrong by themselves."""
    return single_flip_error(square_lattice(size), p) / size**2
