"""How results look when they are printed: one line each, however large their arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

SHORT = 6
"""Arrays with at most this many entries are written out."""


def one_line(result: Any) -> str:
    """Return a dataclass or named tuple in one line; larger arrays by type and shape.

    Examples
    --------
    >>> from planaris.result import GroundState
    >>> from planaris.models import IsingModel
    >>> model = IsingModel([(0, 1), (1, 2)], [0.5, 0.5])
    >>> GroundState.of(model, np.ones(3, np.int8), -1.0, method="by hand")
    GroundState(spins=[1, 1, 1], energy=-1.0, lower=-1.0, upper=-1.0, exact=True, method='by hand')
    >>> large = IsingModel([(0, 1)], [1.0], num_spins=900)
    >>> print(one_line(GroundState.of(large, np.ones(900, np.int8), -2.0, method="by hand")))
    GroundState(spins=int8[900], energy=-1.0, lower=-2.0, upper=-1.0, exact=False, method='by hand')
    """
    shown = (f"{name}={short(getattr(result, name))}" for name in shown_fields(result))
    return f"{type(result).__name__}({', '.join(shown)})"


def shown_fields(result: Any) -> list[str]:
    """Return the names of the fields that are shown, of a dataclass or named tuple.

    ``INSTEAD`` of a class names the field that stands for another one where that is empty.
    """
    if getattr(result, "SHOWN", ()):
        instead = getattr(result, "INSTEAD", {})
        return [
            instead[name] if name in instead and not len(getattr(result, name)) else name
            for name in result.SHOWN
        ]
    if dataclasses.is_dataclass(result):
        return [field.name for field in dataclasses.fields(result) if field.repr]
    return list(result._fields)


def short(value: Any) -> str:
    """Return a value in a few words; larger arrays by type and shape."""
    if isinstance(value, np.ndarray):
        if value.ndim < 2 and value.size <= SHORT:
            return repr(value.tolist())
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list | tuple) and len(value) > 0:
        if any(isinstance(item, np.ndarray) for item in value):
            return f"[{len(value)} arrays]"
        return repr(value) if len(value) <= SHORT else f"[{len(value)} entries]"
    return repr(value)


def many(count: int, thing: str) -> str:
    """Return a number of things in words.

    >>> many(1, "edge"), many(2, "edge"), many(0, "edge")
    ('1 edge', '2 edges', '0 edges')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"
