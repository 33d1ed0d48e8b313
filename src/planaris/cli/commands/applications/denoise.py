"""``planaris denoise``: clean a binary image, with a proof that nothing fits better."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from planaris.cli.options import EXIT_BOUNDED, Json


class How(StrEnum):
    """Estimators by name."""

    MAP = "map"
    GUIDED = "guided"
    MARGINAL = "marginal"
    TWO_STEP = "two-step"
    CYCLE_LP = "cycle-lp"
    LOCAL_LP = "local-lp"
    HILL_CLIMBING = "hill-climbing"


Image = Annotated[Path, typer.Argument(metavar="IMAGE", help="Binary or grey image.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Where the clean image goes; default: IMAGE-clean.png."
    ),
]
Guide = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Picture of the same scene: labels may change at its edges."),
]
Truth = Annotated[Path | None, typer.Option(metavar="FILE", help="True image, to count errors.")]
Method = Annotated[
    How | None, typer.Option(help="Estimator; default: guided with a guide, map without.")
]
Level = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Grey level, 0 to 1, above which is white; default: Otsu's. Colour images need it.",
    ),
]
Limit = Annotated[
    float, typer.Option(metavar="SECONDS", help="Return the best image found by then.")
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
    time_limit: Limit = 60.0,
    as_json: Json = False,
) -> None:
    """Denoise a binary image: find the labels that fit its pixels and their neighbours best.

    Photographs in colour are refused unless --threshold says what is white.
    """
    from planaris.cli.denoise_files import denoise_file

    exact = denoise_file(
        image,
        out or image.with_name(f"{image.stem}-clean.png"),
        guide=guide,
        truth=truth,
        noise=(p, q),
        method=method or (How.MAP if guide is None else How.GUIDED),
        threshold=threshold,
        time_limit=time_limit,
        json=as_json,
    )
    if not exact:
        raise typer.Exit(EXIT_BOUNDED)
