"""``planaris denoise``: clean a binary image, with a proof that nothing fits better."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from planaris.cli.options import EXIT_BOUNDED, Json, TimeLimit, print_json
from planaris.errors import PlanarisError
from planaris.io.images import read_image, write_image
from planaris.recover import (
    MAP,
    CycleLP,
    Estimator,
    HillClimbing,
    LocalLP,
    Marginal,
    TwoStep,
    estimate_noise,
    image_noise,
    observe_image,
)
from planaris.recover.images import LEAST_NOISE


class How(StrEnum):
    """Estimators by name."""

    MAP = "map"
    MARGINAL = "marginal"
    TWO_STEP = "two-step"
    CYCLE_LP = "cycle-lp"
    LOCAL_LP = "local-lp"
    HILL_CLIMBING = "hill-climbing"


Image = Annotated[Path, typer.Argument(metavar="IMAGE", help="Binary or grey image.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Clean image.")]
Guide = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Picture of the same scene: labels change at its edges."),
]
Truth = Annotated[Path | None, typer.Option(metavar="FILE", help="True image, to count errors.")]
Method = Annotated[
    How | None, typer.Option(help="Estimator; default: two-step with a guide, map without.")
]
Level = Annotated[
    float | None, typer.Option(help="Grey level, 0 to 1, above which is white; default: Otsu's.")
]


def denoise(
    image: Image,
    out: Out = None,
    guide: Guide = None,
    truth: Truth = None,
    p: Annotated[
        float | None, typer.Option(help="Share of wrong edges; default: estimate.")
    ] = None,
    q: Annotated[
        float | None, typer.Option(help="Share of wrong pixels; default: estimate.")
    ] = None,
    method: Method = None,
    threshold: Level = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Clean a binary image: the labels that fit its pixels and their neighbours best."""
    target = out or image.with_name(f"{image.stem}-clean.png")
    if target.resolve() == image.resolve():
        msg = f"`--out` must not be the image itself, {image}"
        raise PlanarisError(msg)
    method = method or (How.MAP if guide is None else How.TWO_STEP)
    if method is How.TWO_STEP and guide is None:
        msg = (
            "`--method two-step` needs evidence of where labels change: give a `--guide`; without "
            "one all neighbours look alike and the pixels only choose between white and black"
        )
        raise PlanarisError(msg)
    grey = read_image(image, grey=True)
    seen = observe_image(
        grey, guide=None if guide is None else read_image(guide), threshold=threshold
    )
    shape = grey.shape[0], grey.shape[1]
    if p is None or q is None:
        if guide is None:
            found = image_noise(seen, shape)
        else:
            noise = estimate_noise(seen, p=p, q=q)
            found = max(noise.p, LEAST_NOISE), max(noise.q, LEAST_NOISE)
        p, q = (found[0] if p is None else p), (found[1] if q is None else q)
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
    _tell(facts, as_json)
    if not result.exact and method in (How.MAP, How.MARGINAL, How.TWO_STEP):
        raise typer.Exit(EXIT_BOUNDED)


def _estimator(method: How, p: float, q: float, time_limit: float | None) -> Estimator:
    if method is How.TWO_STEP:
        return TwoStep(time_limit=time_limit)
    kinds: dict[How, Any] = {
        How.MAP: MAP,
        How.MARGINAL: Marginal,
        How.CYCLE_LP: CycleLP,
        How.LOCAL_LP: LocalLP,
        How.HILL_CLIMBING: HillClimbing,
    }
    chosen: Estimator = kinds[method](p, q, time_limit)
    return chosen


def _tell(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({name.replace(" ", "_"): value for name, value in facts.items()})
        return
    console = Console()
    for name, value in facts.items():
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        console.print(f"{name:>15}  {text}", highlight=False, soft_wrap=True)
