"""Error messages in the words of the command line: options instead of Python arguments."""

from __future__ import annotations

import re

OPTIONS = {
    "method": "--method",
    "time_limit": "--time-limit",
    "format": "--format",
    "num_samples": "--count",
    "rng": "--seed",
    "embedding": "--genus",
}
"""Options that stand for Python arguments."""

_NAMES = "|".join(OPTIONS)
_SETTING = re.compile(rf"`?\b({_NAMES})=([\"'])([^\"']*)\2`?")
_NAME = re.compile(rf"`({_NAMES})`")


def for_command_line(message: str) -> str:
    """Return an error message with options where it names Python arguments.

    >>> for_command_line("`time_limit` must be positive; use `method='planar'` or format='bq'")
    "'--time-limit' must be positive; use '--method planar' or '--format bq'"
    """
    message = _SETTING.sub(lambda found: f"'{OPTIONS[found[1]]} {found[3]}'", message)
    return _NAME.sub(lambda found: f"'{OPTIONS[found[1]]}'", message)
