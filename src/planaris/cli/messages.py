"""Error messages in the words of the command line: options instead of Python arguments."""

from __future__ import annotations

import re

from planaris.errors import NotPlanarError

OPTIONS = {
    "method": "--method",
    "time_limit": "--time-limit",
    "format": "--format",
    "num_samples": "--count",
    "rng": "--seed",
    "embedding": "--genus",
    "device": "--device",
    "prove": "--prove",
    "threads": "--threads",
    "drop": "--drop",
    "port": "--port",
}
"""Options that stand for Python arguments."""

_NAMES = "|".join(OPTIONS)
_CALL = re.compile(r"planaris\.\w+\(model, ((?:method)=([\"'])[^\"']*\2)\)")
_SETTING = re.compile(rf"`?\b({_NAMES})=([\"'])([^\"']*)\2`?")
_SWITCH = re.compile(r"`?\bprove=True`?")
_NAME = re.compile(rf"`({_NAMES})`")
_OPTION = re.compile(r"`(--[^`]+)`")
_EVIDENCE = re.compile(r" \(see `[^`]*`\)")
_OTHER = re.compile(r"`([A-Za-z_]+)`")


def for_command_line(error: BaseException) -> str:
    """Return the message of an error with options where it names Python arguments.

    >>> said = "`time_limit` must be positive; `num_edges` is 3. Use `method='planar'`"
    >>> for_command_line(ValueError(said))
    "'--time-limit' must be positive; num edges is 3. Use '--method planar'"
    """
    if isinstance(error, NotPlanarError) and "(see `kuratowski_edges`)" in str(error):
        return _not_planar(error)
    message = _EVIDENCE.sub("", _CALL.sub(r"\1", str(error)))
    message = message.replace('method="matching"', "matching (without '--ml')")  # of decoders
    message = _SETTING.sub(lambda found: f"'{OPTIONS[found[1]]} {found[3]}'", message)
    message = _SWITCH.sub("'--prove'", message)
    message = _NAME.sub(lambda found: f"'{OPTIONS[found[1]]}'", message)
    message = _OPTION.sub(r"'\1'", message)
    return _OTHER.sub(lambda found: found[1].replace("_", " "), message)


def _not_planar(error: NotPlanarError) -> str:
    return (
        f"the graph is not planar: {len(error.kuratowski_edges)} of its edges, with those that "
        f"stand for external fields, are a subdivided {error.evidence['kind']} ('planaris info "
        "--certificate FILE' writes them down). Leave '--method' out, or look for a surface with "
        "'--genus'"
    )
