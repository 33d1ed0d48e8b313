"""Boundary detection by the strength of the penalty on the weights: images found, error there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from planaris.experiments.figure import Result
from planaris.experiments.summaries import PALETTE
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes

LOST = 10.0
"""Per cent of wrong pixels above which the boundary was not found."""

PUBLISHED = 0.67
SMALL = 0.001
"""The smallest λ of the sweep."""

MARGIN, LIKELIHOOD = "margin, MAP", "likelihood, MAP"
ENOUGH = 8
"""Images that a share needs to decide anything."""

Key = tuple[float, int, str, str]


def penalty_panels(results: Sequence[Result]) -> Panels:
    """Draw the share of images found against the noise, one line per λ and loss."""
    groups = _groups(results)
    if not groups:
        return Panels()
    rows = [
        [penalty, f"1:{noise}", source, method, len(errors), _share(errors), _where_found(errors)]
        for (penalty, noise, source, method), errors in groups.items()
    ]
    header = ("λ", "S/N", "weights", "prediction", "images", "found", "% wrong where found")
    return Panels(
        pictures=[_draw(groups, method) for method in (MARGIN, LIKELIHOOD)],
        tables=[Table("Images found, by λ", header, rows)],
        verdicts=[_transition(groups, method) for method in (MARGIN, LIKELIHOOD)],
    )


def _groups(results: Sequence[Result]) -> dict[Key, list[float]]:
    groups: dict[Key, list[float]] = {}
    for params, record in results:
        if params["features"] != "paper":
            continue
        for source, errors in record["error"].items():
            for method in (MARGIN, LIKELIHOOD):
                key = params["lambda"], params["noise"], source, method
                groups.setdefault(key, []).append(errors[method])
    return dict(sorted(groups.items(), reverse=True))


def _share(errors: list[float]) -> float:
    return float(np.mean(np.array(errors) <= LOST))


def _where_found(errors: list[float]) -> float | None:
    found = [error for error in errors if error <= LOST]
    return float(np.median(found)) if found else None


def _draw(groups: dict[Key, list[float]], method: str) -> Picture:
    figure, axes = new_axes(size=3.6)
    penalties = sorted({key[0] for key in groups}, reverse=True)
    for penalty, colour in zip(penalties, PALETTE, strict=False):
        for source, style in (("own", "-"), ("other", "--")):
            mine = {
                key[1]: _share(e)
                for key, e in groups.items()
                if key[0] == penalty and key[2:] == (source, method)
            }
            noise = sorted(mine)
            label = f"λ = {penalty:g}" if source == "own" else None
            axes.plot(
                noise,
                [mine[n] for n in noise],
                style,
                color=colour,
                marker="o",
                ms=3,
                label=label,
            )
    axes.set(xlabel="noise to signal", ylabel="share of images found", ylim=(-0.03, 1.03))
    axes.set_title(method, fontsize=9)
    axes.legend(fontsize="small")
    words = "max-margin" if method == MARGIN else "maximum likelihood"
    caption = f"Images whose boundary is found after {words} training; dashed: learned on another."
    return Picture(caption, figure)


def _transition(groups: dict[Key, list[float]], method: str) -> Verdict:
    """Judge the paper's transition between 1:8 and 1:9 by the smallest λ there is."""
    penalties = [key[0] for key in groups if key[2:] == ("own", method)]
    penalty = min(penalties)
    by_noise: dict[int, Any] = {
        key[1]: errors
        for key, errors in groups.items()
        if key[0] == penalty and key[2:] == ("own", method)
    }
    listed = ", ".join(f"{_share(by_noise[n]):.0%} at 1:{n}" for n in sorted(by_noise))
    at_eight = by_noise.get(8, [])
    wrong = _where_found(at_eight)
    shown = "none is found at 1:8" if wrong is None else f"{wrong:.2f} % wrong at 1:8 where found"
    enough = len(at_eight) >= ENOUGH and len(by_noise.get(9, [])) >= ENOUGH
    holds = None
    if enough:
        holds = bool(
            _share(at_eight) >= 0.5
            and _share(by_noise[9]) < 0.5
            and wrong is not None
            and wrong <= PUBLISHED
        )
    words = "Max-margin" if method == MARGIN else "Maximum likelihood"
    return Verdict(
        f"{words} training with λ = {penalty:g} finds the boundary at 1:8 and loses it at 1:9.",
        f"Found, learned on the image itself: {listed}; {shown}.",
        holds,
        f"half of the images or more are found at 1:8, fewer at 1:9, and the median error where "
        f"found at 1:8 is at most {PUBLISHED} %",
        f"{ENOUGH} images at 1:8 and 1:9: the full run",
    )
