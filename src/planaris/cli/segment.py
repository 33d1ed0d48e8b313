"""``planaris segment``: foreground and background of an image, with the doubt about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from planaris.cli.options import Json, print_json
from planaris.errors import ModelError
from planaris.io.images import read_image, write_image
from planaris.learn import PlanarCRF
from planaris.learn.segmentation import Segmentation, segment_image
from planaris.typing import Array, FloatArray

TINT = np.array([0.82, 0.29, 0.36])


def segment(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="What to segment.")],
    scribbles: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Strokes on black: red background, else foreground."),
    ] = None,
    crf: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="CRF written by PlanarCRF.save.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder.")] = Path(),
    max_side: Annotated[
        int, typer.Option(min=1, metavar="PIXELS", help="Work on an image no larger than this.")
    ] = 200,
    samples: Annotated[int, typer.Option(min=1, help="Exact samples for the uncertainty.")] = 16,
    seed: Annotated[int, typer.Option(help="Of the samples.")] = 0,
    json: Json = False,
) -> None:
    """Segment an image into foreground and background, and say how sure that is.

    Writes IMAGE-mask.png, IMAGE-overlay.png and IMAGE-uncertainty.png.
    """
    whole = read_image(image)
    small = read_image(image, max_side=max_side)
    strokes = None if scribbles is None else _read_strokes(scribbles, whole, small)
    found = segment_image(
        small,
        strokes,
        crf=None if crf is None else PlanarCRF.load(crf),
        num_samples=samples,
        seed=seed,
    )
    out.mkdir(parents=True, exist_ok=True)
    files = {name: out / f"{image.stem}-{name}.png" for name in ("mask", "overlay", "uncertainty")}
    mask = _enlarge(found.mask, whole.shape)
    write_image(mask, files["mask"])
    write_image(_overlay(whole, mask), files["overlay"])
    write_image(_enlarge(found.uncertainty, whole.shape), files["uncertainty"])
    _tell(found, files, json)


def _tell(found: Segmentation, files: dict[str, Path], json: bool) -> None:
    facts: dict[str, Any] = {
        "foreground": float(found.mask.mean()),
        "exact": found.exact,
        "method": found.method,
        "mean_uncertainty": float(found.uncertainty.mean()),
        "undecided_pixels": int(np.count_nonzero(found.lower != found.upper)),
        "samples": found.num_samples,
    }
    if json:
        print_json({**facts, "files": {name: str(path) for name, path in files.items()}})
        return
    console = Console()
    proof = "proved most probable" if found.exact else "not proved"
    console.print(
        f"{facts['foreground']:.1%} foreground ({found.method}, {proof}); mean uncertainty "
        f"{facts['mean_uncertainty']:.3f} from {found.num_samples} exact samples",
        highlight=False,
        soft_wrap=True,
    )
    if facts["undecided_pixels"]:
        console.print(
            f"{facts['undecided_pixels']} pixels are only bounded; shown as the most uncertain"
        )
    for path in files.values():
        console.print(str(path), highlight=False, soft_wrap=True)


def _read_strokes(path: Path, whole: FloatArray, small: FloatArray) -> FloatArray:
    """Return the strokes at the size of the small image; thin ones survive the shrinking."""
    drawn = read_image(path)
    if drawn.shape[:2] != whole.shape[:2]:
        msg = (
            f"`--scribbles` must have the size of the image, {whole.shape[1]}×{whole.shape[0]}, "
            f"got {drawn.shape[1]}×{drawn.shape[0]}"
        )
        raise ModelError(msg)
    drawn = np.repeat(drawn[:, :, None], 3, axis=2) if drawn.ndim == 2 else drawn
    result = np.zeros((*small.shape[:2], 3))
    row, column = np.nonzero(drawn.max(axis=2) > 0)
    place = (row * small.shape[0] // whole.shape[0], column * small.shape[1] // whole.shape[1])
    result[place] = drawn[row, column]
    return result


def _enlarge(values: Array, shape: tuple[int, ...]) -> Array:
    rows = np.arange(shape[0]) * values.shape[0] // shape[0]
    columns = np.arange(shape[1]) * values.shape[1] // shape[1]
    return values[np.ix_(rows, columns)]


def _overlay(image: FloatArray, mask: Array) -> FloatArray:
    """Return the image with the background dimmed and the outline drawn."""
    colour = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    shown = np.where(mask[:, :, None], colour, 0.35 * colour)
    outline = np.zeros_like(mask, dtype=bool)
    across, along = mask[:, :-1] != mask[:, 1:], mask[:-1] != mask[1:]
    for part, change in (
        (outline[:, :-1], across),
        (outline[:, 1:], across),
        (outline[:-1], along),
        (outline[1:], along),
    ):
        part |= change
    return np.asarray(np.where(outline[:, :, None], TINT, shown))
