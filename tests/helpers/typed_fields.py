"""Whether fields hold exactly what their annotations say: a NumPy scalar is no float here."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

PLAIN = (float, int, bool, str, type(None))


def misfits(value: Any, name: str = "") -> Iterator[str]:
    """Yield a line for every field, at any depth, that holds something else than it says."""
    kind = type(value)
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = list(kind._fields)
    else:
        return
    hints = typing.get_type_hints(kind)
    for each in names:
        where = f"{name or kind.__name__}.{each}"
        yield from _against(getattr(value, each), hints[each], where)


def _against(value: Any, hint: Any, where: str) -> Iterator[str]:
    if isinstance(hint, typing.TypeVar):
        hint = hint.__bound__ or Any
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return
    wrong = f"{where}: {hint} holds a {type(value).__module__}.{type(value).__name__}"
    if origin in (typing.Union, types.UnionType):
        attempts = [list(_against(value, option, where)) for option in arguments]
        if all(attempts):
            yield from min(attempts, key=lambda lines: (wrong[:30] in str(lines), len(lines)))
    elif hint is None or hint in PLAIN:
        if type(value) is not (type(None) if hint is None else hint):
            yield wrong
    elif origin is typing.Literal:
        if not any(type(value) is type(one) and value == one for one in arguments):
            yield wrong
    elif origin is np.ndarray:
        (number,) = typing.get_args(arguments[1])
        if not isinstance(value, np.ndarray):
            yield wrong
        elif number is not Any and value.dtype != np.dtype(number):
            yield f"{where}: {number.__name__} holds {value.dtype}"
    elif origin is tuple and arguments[-1:] != (...,):
        if type(value) is not tuple or len(value) != len(arguments):
            yield wrong
        else:
            for k, (item, of) in enumerate(zip(value, arguments, strict=True)):
                yield from _against(item, of, f"{where}[{k}]")
    elif origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, origin):
            yield wrong
        else:
            for key, item in value.items():
                yield from _against(key, arguments[0], f"{where} key")
                yield from _against(item, arguments[1], f"{where}[{key!r}]")
    elif origin is not None and issubclass(origin, Sequence):
        if not isinstance(value, origin) or isinstance(value, str):
            yield wrong
        else:
            for k, item in enumerate(value):
                yield from _against(item, arguments[0], f"{where}[{k}]")
    elif not isinstance(value, origin or hint):
        yield wrong
    else:
        yield from misfits(value, where)
