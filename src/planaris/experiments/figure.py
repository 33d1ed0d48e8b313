"""What a figure is: trials, one run per trial, and a plot of stored results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from planaris.report.parts import Panels

Params = dict[str, Any]
"""What a trial is given: a JSON object, seed included. ``"path"`` does not enter the hash."""

Record = dict[str, Any]
"""What a trial returns: a JSON object. Times go under ``"seconds"``: they are not compared."""


@dataclass(frozen=True)
class Settings:
    """What the user chose.

    Attributes
    ----------
    quick : bool
        A subset of the trials, about a minute on two cores.
    data : pathlib.Path or None
        Folder of the user's own data.
    device : str or None
        A GPU, for trials that need one; figures that have such leave them out otherwise.
    """

    quick: bool = False
    data: Path | None = None
    device: str | None = None


class Result(NamedTuple):
    """A stored trial."""

    params: Params
    record: Record


@dataclass(frozen=True)
class Figure:
    """One published figure: ``trials → run → plot``.

    Attributes
    ----------
    name : str
        As in ``planaris reproduce NAME``.
    title, paper, claim : str
        For the page: what it shows, where it was published, what was claimed there.
    version : int
        Part of the hash of every trial: raise it when ``run`` changes its meaning.
    trials : callable
        ``trials(settings)`` lists the parameters of all trials. The quick ones should be
        among the full ones, so that a full run starts from what a quick one stored.
    run : callable
        ``run(params)`` does one trial, the same for the same parameters but for ``"seconds"``.
        A function of a module, so that it can be sent to other processes.
    plot : callable
        ``plot(results)`` reads stored results, in the order of the trials and perhaps not all
        of them, and nothing else.
    """

    name: str
    title: str
    paper: str
    claim: str
    version: int
    trials: Callable[[Settings], list[Params]]
    run: Callable[[Params], Record]
    plot: Callable[[Sequence[Result]], Panels]


def stable(record: Record) -> Record:
    """Return a record without its times: what must not depend on where it ran.

    >>> stable({"energy": -1.0, "seconds": 0.2})
    {'energy': -1.0}
    """
    return {name: value for name, value in record.items() if name != "seconds"}


def file_params(path: Path) -> Params:
    """Return parameters that name a file by its contents, wherever it lies."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": path.name, "sha256": digest, "path": str(path.resolve())}
