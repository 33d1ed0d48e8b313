"""``planaris segment``: foreground and background of an image, with its uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planaris.cli.options import Json


def segment(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="Image to segment.")],
    box: Annotated[
        str | None,
        typer.Option(
            metavar="LEFT,TOP,RIGHT,BOTTOM", help="Box around the foreground, in pixels of IMAGE."
        ),
    ] = None,
    scribbles: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Strokes on black: red background, else foreground."),
    ] = None,
    crf: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="CRF written by PlanarCRF.save.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the files.")
    ] = Path(),
    max_side: Annotated[
        int, typer.Option(min=1, metavar="PIXELS", help="Work on an image no larger than this.")
    ] = 200,
    samples: Annotated[int, typer.Option(min=1, help="Exact samples for the uncertainty.")] = 16,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    json: Json = False,
) -> None:
    """Cut the foreground out of an image, and say how sure that is.

    Say what the foreground is: by a box around it, by strokes, or by a trained CRF. Without any of
    these the image is split into regions that look alike, and which of them is called foreground
    means nothing. Writes IMAGE-mask.png, IMAGE-overlay.png and IMAGE-uncertainty.png.
    """
    from planaris.cli.segment_files import segment_file

    segment_file(
        image,
        out,
        box=box,
        scribbles=scribbles,
        crf=crf,
        max_side=max_side,
        num_samples=samples,
        seed=seed,
        json=json,
    )
