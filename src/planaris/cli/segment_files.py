"""The files that ``planaris segment`` reads and writes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from planaris.cli.options import print_json
from planaris.errors import ModelError
from planaris.io.images import read_image, write_image
from planaris.learn import PlanarCRF
from planaris.learn.segmentation import Segmentation, segment_image
from planaris.typing import Array, FloatArray

TINT = np.array([0.82, 0.29, 0.36])


def segment_file(
    image: Path,
    out: Path,
    *,
    box: str | None,
    scribbles: Path | None,
    crf: Path | None,
    max_side: int,
    num_samples: int,
    seed: int,
    json: bool,
) -> None:
    """Segment an image file; write mask, overlay and uncertainty, and say what was found."""
    whole = read_image(image)
    small = read_image(image, max_side=max_side)
    found = segment_image(
        small,
        None if scribbles is None else _read_strokes(scribbles, whole, small),
        box=None if box is None else _scaled_box(box, whole, small),
        crf=None if crf is None else PlanarCRF.load(crf),
        num_samples=num_samples,
        seed=seed,
        progress=None if json else True,
    )
    out.mkdir(parents=True, exist_ok=True)
    files = {name: out / f"{image.stem}-{name}.png" for name in ("mask", "overlay", "uncertainty")}
    mask = _enlarge(found.mask, whole.shape)
    write_image(mask, files["mask"])
    write_image(_overlay(whole, mask), files["overlay"])
    write_image(_enlarge(found.uncertainty, whole.shape), files["uncertainty"])
    _tell(found, files, json, boxed=box is not None)


def _scaled_box(text: str, whole: FloatArray, small: FloatArray) -> tuple[int, int, int, int]:
    """Return the box in pixels of the small image; it covers all of the given one."""
    try:
        left, top, right, bottom = (int(word) for word in text.replace(",", " ").split())
    except ValueError:
        msg = f"`--box` must be four whole numbers LEFT,TOP,RIGHT,BOTTOM, got {text!r}"
        raise ModelError(msg) from None
    rows, columns = whole.shape[:2]
    if not (0 <= left < right <= columns and 0 <= top < bottom <= rows):
        msg = (
            f"`--box` must lie inside the image of {columns} × {rows} pixels, LEFT before RIGHT "
            f"and TOP before BOTTOM, got {text}"
        )
        raise ModelError(msg)
    across, along = small.shape[1] / columns, small.shape[0] / rows
    return (
        int(left * across),
        int(top * along),
        math.ceil(right * across),
        math.ceil(bottom * along),
    )


def _tell(found: Segmentation, files: dict[str, Path], json: bool, *, boxed: bool) -> None:
    facts: dict[str, Any] = {
        "foreground": float(found.mask.mean()),
        "asked": found.asked,
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
    source = "cuts under shifted fields" if boxed else "exact samples"
    if boxed:
        proof = "proved for its colours" if found.exact else "not proved"
    share = f"{facts['foreground']:.1%} " + ("foreground" if found.asked else "in one region")
    console.print(
        f"{share} ({found.method}, {proof}); mean uncertainty "
        f"{facts['mean_uncertainty']:.3f} from {found.num_samples} {source}",
        highlight=False,
        soft_wrap=True,
    )
    if not found.asked:
        Console(stderr=True).print(
            "planaris: nothing said what the foreground is, so regions that look alike were told "
            "apart and the labels have no meaning; give --box LEFT,TOP,RIGHT,BOTTOM or --scribbles",
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
