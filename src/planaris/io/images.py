"""Images and masks as arrays: grey or colour from 0 to 1, row 0 at the top."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED
from planaris.errors import FileFormatError, ModelError, PlanarisError, missing_extra
from planaris.typing import ArrayLike, BoolArray, FloatArray
from planaris.writing import open_whole

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
"""Formats that are read."""

MAX_PIXELS = 100_000_000
"""Larger images are refused before they are decoded."""
BYTES_PER_PIXEL = 40
"""Memory for the decoded image, its colours, its bytes and its numbers; images without room for it
are refused."""


def read_image(
    path: str | os.PathLike[str], *, grey: bool = False, max_side: int | None = None
) -> FloatArray:
    """Read an image with values from 0 to 1, turned as its EXIF orientation says.

    Parameters
    ----------
    path : path
        One of :data:`FORMATS`; others, some of which start programs to be read, are refused.
    grey : bool
        Return grey levels, shape (H, W), instead of colours, shape (H, W, 3). Images stored
        grey come as (H, W) in any case.
    max_side : int, optional
        Shrink the image so that no side is longer than this.
    """
    image = _open(path)
    colour = not grey and image.mode not in ("1", "L", "I", "F", "LA")
    if image.mode not in ("I", "F"):
        image = image.convert("RGB" if colour else "L")
    if max_side is not None and max(image.size) > max_side:
        image = _shrunk(image, max_side)
    return _levels(image)


def read_mask(
    path: str | os.PathLike[str], *, threshold: float = 0.5, max_side: int | None = None
) -> BoolArray:
    """Read a mask: True where the grey level is above ``threshold``.

    Shrinking takes the nearest pixel, so that a mask stays one.
    """
    image = _open(path)
    if image.mode not in ("I", "F"):
        image = image.convert("L")
    if max_side is not None and max(image.size) > max_side:
        image = _shrunk(image, max_side, nearest=True)
    return np.asarray(_levels(image) > threshold)


def _levels(image: Any) -> FloatArray:
    """Return the values of an image: of 8 bits, in mode I of 16, in mode F as they are."""
    values = np.array(image, dtype=np.float64)
    values /= {"I": 65535.0, "F": 1.0}.get(image.mode, 255.0)
    return values


def write_image(values: ArrayLike, path: str | os.PathLike[str]) -> None:
    """Write grey levels (H, W) or colours (H, W, 3) from 0 to 1, or a Boolean mask, as PNG."""
    image_module = _pillow()
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3) or array.size == 0:
        msg = f"`values` must have shape (H, W) or (H, W, 3), got {array.shape}"
        raise ModelError(msg)
    pixels = np.rint(np.clip(np.nan_to_num(array), 0.0, 1.0) * 255).astype(np.uint8)
    with open_whole(path) as file:
        image_module.fromarray(pixels).save(file, format="PNG")


def _shrunk(image: Any, max_side: int, *, nearest: bool = False) -> Any:
    if max_side < 1:
        msg = f"`max_side` must be at least 1, got {max_side}"
        raise ModelError(msg)
    factor = max_side / max(image.size)
    size = tuple(max(1, round(side * factor)) for side in image.size)
    resampling = _pillow().Resampling
    return image.resize(size, resampling.NEAREST if nearest else resampling.BOX)


def _open(path: str | os.PathLike[str]) -> Any:
    image_module = _pillow()
    from PIL import UnidentifiedImageError

    try:
        UNLIMITED.check_memory(
            Path(path).stat().st_size, f"{path}: the file", "make it smaller first"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is too large or broken is said below
            # From memory: a file would make room for as many bytes as a damaged length says.
            data = io.BytesIO(Path(path).read_bytes())
            with image_module.open(data, formats=FORMATS) as image:
                _check_size(path, image)
                image.load()
                return _plain(image)
    except (FileNotFoundError, MemoryError, PlanarisError):
        raise
    except UnidentifiedImageError as error:
        msg = f"{path}: not an image of a known format ({', '.join(FORMATS)})"
        raise FileFormatError(msg, path=str(path), line=None) from error
    except Exception as error:  # decoders raise whatever they trip over
        msg = f"{path}: not an image that can be read: {error}"
        raise FileFormatError(msg, path=str(path), line=None) from error


def _plain(image: Any) -> Any:
    """Return a copy as viewers show it, without palette, of 8 or 16 bits or floats."""
    from PIL.ImageOps import exif_transpose

    image = exif_transpose(image)
    if image.mode == "P":
        return image.convert("RGBA").convert("RGB")
    if image.mode.startswith("I"):  # 16 bits have several modes, by version and format
        return _sixteen_bits(image)
    if image.mode == "F":
        values = np.array(image)
        if not ((values >= 0) & (values <= 1)).all():
            low, high = values.min(), values.max()
            msg = f"floats must be grey levels from 0 to 1, but are from {low:g} to {high:g}"
            raise ValueError(msg)
    return image.copy()


def _sixteen_bits(image: Any) -> Any:
    image = image.convert("I")
    low, high = image.getextrema()
    if low < 0 or high > 65535:
        msg = f"grey levels of more than 16 bits, from {low} to {high}"
        raise ValueError(msg)
    return image


def _check_size(path: str | os.PathLike[str], image: Any) -> None:
    pixels = image.width * image.height
    size = f"{path}: an image of {image.width}×{image.height} pixels"
    if pixels > MAX_PIXELS:
        msg = f"{size} is too large"
        raise FileFormatError(msg, path=str(path), line=None)
    UNLIMITED.check_memory(BYTES_PER_PIXEL * pixels, size, "make it smaller first")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra(package="pillow", extra="image") from error
    return Image
