"""What a request may carry: every field has a type and a range, and nothing else is taken."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NoReturn, TypeGuard

from planaris.errors import PlanarisError

SHOWN = 40
"""Characters of a wrong value that an error repeats."""


class RequestError(PlanarisError):
    """A request does not say what it must; ``field`` is the one at fault."""

    field: str


class Fields:
    """A JSON object whose fields are read one by one.

    Parameters
    ----------
    values : object
        What the request carried; anything but an object is refused.
    known : collection of str
        The names it may have.
    where : str
        What the object is called in errors.

    Examples
    --------
    >>> fields = Fields({"rows": 3}, known=("rows", "seed"))
    >>> fields.integer("rows", 1, 9), fields.integer("seed", 0, 9, default=7)
    (3, 7)
    >>> fields.integer("rows", 5, 9)
    Traceback (most recent call last):
    planaris.play.fields.RequestError: `rows` must be an integer from 5 to 9, got 3
    """

    def __init__(self, values: Any, *, known: Collection[str], where: str = "the request") -> None:
        if not isinstance(values, dict):
            refuse(where, "an object", values)
        for name in values:
            if name not in known:
                msg = f"{where} must only have the fields {', '.join(known)}, got {shown(name)}"
                raise RequestError(msg, field=shown(name))
        self._values = values

    def get(self, name: str) -> Any:
        """Return a field as it came, None where it is missing."""
        return self._values.get(name)

    def number(self, name: str, low: float, high: float, *, default: float | None = None) -> float:
        """Return a number of a range; a missing one is ``default`` if there is one."""
        value = self._values.get(name, default)
        if not is_number(value) or not low <= value <= high:
            refuse(name, f"a number from {low:g} to {high:g}", value)
        return float(value)

    def integer(self, name: str, low: int, high: int, *, default: int | None = None) -> int:
        """Return an integer of a range; a missing one is ``default`` if there is one."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            refuse(name, f"an integer from {low} to {high}", value)
        return value

    def choice(self, name: str, choices: Collection[str], *, default: str | None = None) -> str:
        """Return one of a few words."""
        value = self._values.get(name, default)
        if not isinstance(value, str) or value not in choices:
            refuse(name, f"one of {', '.join(choices)}", value)
        return value

    def text(self, name: str, longest: int) -> str:
        """Return a string of limited length."""
        value = self._values.get(name)
        if not isinstance(value, str) or len(value) > longest:
            found = f"{len(value)} characters" if isinstance(value, str) else value
            refuse(name, f"text of at most {longest} characters", found)
        return value

    def rows(self, name: str, width: int, longest: int) -> list[list[Any]]:
        """Return a list of short lists; none where the field is missing."""
        value = self._values.get(name, [])
        if not isinstance(value, list) or len(value) > longest:
            found = f"{len(value)} rows" if isinstance(value, list) else value
            refuse(name, f"a list of at most {longest} rows", found)
        for row in value:
            if not isinstance(row, list) or len(row) != width:
                refuse(name, f"rows of {width} values", row)
        return value


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def refuse(name: str, needed: str, found: Any) -> NoReturn:
    """Say what a field must be."""
    msg = f"`{name}` must be {needed}, got {shown(found)}"
    raise RequestError(msg, field=name)


def shown(value: Any) -> str:
    """Return a value as one short line.

    >>> shown({"a": "b" * 100})
    'an object'
    """
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = ascii(value) if isinstance(value, str) else str(value)
    except ValueError:  # an integer of too many digits
        return "a huge integer"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
