"""dimod's own binary files; :meth:`IsingModel.from_bqm` and ``to_bqm`` take the objects."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from planaris.errors import PlanarisError, missing_extra
from planaris.io.files import Source, read_bytes, refuse
from planaris.models import IsingModel


def read_bqm(source: Source) -> IsingModel:
    """Read a file written by ``bqm.to_file()``, with labels and offset."""
    dimod = _dimod()
    data = read_bytes(source)
    try:
        return IsingModel.from_bqm(dimod.BinaryQuadraticModel.from_file(data))
    except PlanarisError:
        raise
    except Exception as error:  # dimod raises whatever its parser trips over
        refuse(source, None, "a dimod quadratic model", f"{type(error).__name__}: {error}")


def write_bqm(model: IsingModel, target: Source) -> None:
    """Write a file that ``dimod.BinaryQuadraticModel.from_file`` reads."""
    with model.to_bqm().to_file() as file:
        data = file.read()
    if not isinstance(target, str | os.PathLike):
        target.write(data)
    elif target == "-":
        sys.stdout.buffer.write(data)
    else:
        Path(target).write_bytes(data)


def _dimod() -> Any:
    try:
        import dimod
    except ImportError as error:
        raise missing_extra(package="dimod", extra="dimod") from error
    return dimod
