"""The files that ``planaris denoise`` reads and writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from planaris.cli.commands.applications.denoise import How
from planaris.cli.options import print_json
from planaris.errors import PlanarisError
from planaris.io.images import read_image, write_image
from planaris.recover import (
    MAP,
    CycleLP,
    Estimator,
    Guided,
    HillClimbing,
    LocalLP,
    Marginal,
    Observations,
    TwoStep,
    guided_noise,
    image_noise,
    observe_image,
)
from planaris.typing import FloatArray

ESTIMATORS: dict[How, Any] = {
    How.MAP: MAP,
    How.GUIDED: Guided,
    How.MARGINAL: Marginal,
    How.CYCLE_LP: CycleLP,
    How.LOCAL_LP: LocalLP,
    How.HILL_CLIMBING: HillClimbing,
}

PROVING = (How.MAP, How.GUIDED, How.MARGINAL, How.TWO_STEP)
"""Methods whose answers are proved unless the time is over."""

COLOURFUL = 0.05
"""Mean difference of the channels above which an image is in colour."""

TOO_MANY = 1.5
"""Pixels changed per pixel that should be wrong, above which a guide is not believed."""

LEAST_NOISE = 0.01
"""Share of wrong pixels below which changes are not counted."""


def denoise_file(
    image: Path,
    target: Path,
    *,
    guide: Path | None,
    truth: Path | None,
    noise: tuple[float | None, float | None],
    method: How,
    threshold: float | None,
    time_limit: float,
    json: bool,
) -> bool:
    """Clean an image file and say what was done; return whether the answer is what was asked."""
    if target.resolve() == image.resolve():
        msg = f"`--out` must not be the image itself, {image}"
        raise PlanarisError(msg)
    if method in (How.TWO_STEP, How.GUIDED) and guide is None:
        msg = (
            f"`--method {method}` needs evidence of where labels change: give a `--guide`; without "
            "one all neighbours look alike and the pixels only choose between white and black"
        )
        raise PlanarisError(msg)
    grey = _read_grey(image, threshold)
    seen = observe_image(
        grey, guide=None if guide is None else read_image(guide), threshold=threshold
    )
    shape = grey.shape[0], grey.shape[1]
    p, q = _noise(seen, shape, noise, guided=guide is not None)
    with Console(stderr=True).status(f"denoising, at most {time_limit:g} s", spinner="line"):
        result = _estimator(method, p, q, time_limit).recover(seen, 0)
    write_image(result.labels.reshape(shape) > 0, target)
    facts: dict[str, Any] = {
        "image": str(target),
        "pixels": int(grey.size),
        "changed": int(np.count_nonzero(result.labels != seen.nodes)),
        "edge noise": p,
        "pixel noise": q,
        "method": result.method,
        "proved optimal": result.exact,
        "seconds": result.seconds,
    }
    if truth is not None:
        clean = observe_image(read_image(truth, grey=True)).nodes
        if clean.size != grey.size:
            msg = f"`--truth` must have as many pixels as the image, {grey.size}, got {clean.size}"
            raise PlanarisError(msg)
        facts["wrong before"] = float((seen.nodes != clean).mean())
        facts["wrong after"] = result.error(clean)
    _tell(facts, json)
    if guide is not None and facts["changed"] > TOO_MANY * max(q, LEAST_NOISE) * grey.size:
        sys.stderr.write(
            "planaris: far more pixels changed than their noise explains, so the guide misleads; "
            "try `--method guided`, or leave `--guide` out\n"
        )
    return result.exact or method not in PROVING


def _read_grey(image: Path, threshold: float | None) -> FloatArray:
    """Read an image as grey levels; a photograph in colour is no binary image."""
    colours = read_image(image)
    if colours.ndim == 3 and threshold is None:
        apart = float((colours.max(axis=2) - colours.min(axis=2)).mean())
        if apart > COLOURFUL:
            msg = (
                f"{image} is a photograph in colour, and only binary images are cleaned: "
                "`--threshold 0.5` takes what is lighter than that as white; "
                "`planaris segment --box` cuts things out of photographs"
            )
            raise PlanarisError(msg)
    return read_image(image, grey=True)


def _noise(
    seen: Observations,
    shape: tuple[int, int],
    given: tuple[float | None, float | None],
    *,
    guided: bool,
) -> tuple[float, float]:
    p, q = given
    if p is not None and q is not None:
        return p, q
    found = guided_noise(seen, shape) if guided else image_noise(seen, shape)
    return (found[0] if p is None else p), (found[1] if q is None else q)


def _estimator(method: How, p: float, q: float, time_limit: float) -> Estimator:
    if method is How.TWO_STEP:
        return TwoStep(time_limit=time_limit)
    chosen: Estimator = ESTIMATORS[method](p, q, time_limit)
    return chosen


def _tell(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({name.replace(" ", "_"): value for name, value in facts.items()})
        return
    console = Console()
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        console.print(f"{name:>15}  {text}", highlight=False, soft_wrap=True)
    if not facts["proved optimal"]:
        sys.stderr.write("planaris: the best image found, not proved; --time-limit allows more\n")
