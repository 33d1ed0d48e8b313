"""The registry of methods.

A method is one :class:`Method`, made in a module of this folder and found there by itself: to add
one, add a module that defines ``METHODS``. The verbs, ``planaris info``, the help of the commands,
the table of the documentation, the self-test and the tests of limits all read this registry.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.embed import Embedding
from planaris.errors import MethodError
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.convert import IsingForm

Model = IsingModel | MarkovRandomField

Verb = Literal["ground_state", "log_partition", "marginals", "sample"]

VERBS: tuple[Verb, ...] = ("ground_state", "log_partition", "marginals", "sample")

Promise = Literal["exact", "interval", "estimate"]
"""What a task returns: the exact answer, an interval that contains it, or neither."""

Takes = Literal["spins", "spins first", "labels"]
"""Ising models only; Ising models, or labels where a Markov random field is not one; or any model
directly."""


@dataclass(frozen=True, eq=False)
class Question:
    """The arguments of a verb."""

    model: Any
    budget: Budget = UNLIMITED
    embedding: Embedding | None = None
    num_samples: int = 0
    rng: np.random.Generator | None = None
    device: Any = None


Run = Callable[[Question], Any]


@dataclass(frozen=True, eq=False)
class Task:
    """One verb of a method.

    Attributes
    ----------
    run : callable
        Answers a :class:`Question`.
    promise : str
        ``"exact"``, ``"interval"`` or ``"estimate"``.
    takes : str
        ``"spins"``: Ising models; Markov random fields that are such go through
        :class:`~planaris.models.convert.IsingForm`. ``"spins first"``: the same, and other Markov
        random fields as they are. ``"labels"``: every model as it is.
    devices : bool
        Whether it can be done on a device of torch.
    """

    run: Run
    promise: Promise
    takes: Takes = "spins"
    devices: bool = False


@dataclass(frozen=True, eq=False)
class Method:
    """A method of inference.

    Attributes
    ----------
    name : str
        What ``method=`` and ``--method`` call it.
    purpose : str
        What it does, as the end of a sentence: "is exact on planar models".
    tasks : mapping
        The verbs it has, each a :class:`Task`.
    refusal : callable
        Returns the reason why the method refuses a model that its tasks take, or None.
    slow_on : str
        A model of :mod:`planaris.selftest` on which it takes longer than tests of limits allow.
    """

    name: str
    purpose: str
    tasks: Mapping[Verb, Task]
    refusal: Callable[[Any, Budget], str | None] = field(default=lambda model, budget: None)
    slow_on: str = "any"

    def fits(self, model: Model, budget: Budget) -> str | None:
        """Return None if the method takes a model, or else the reason why not."""
        in_spins = {task.takes for task in self.tasks.values()} == {"spins"}
        if in_spins and isinstance(model, MarkovRandomField):
            try:
                model = IsingForm.apply(model).model
            except MethodError as reason:
                return str(reason)
        return self.refusal(model, budget)


@cache
def methods() -> dict[str, Method]:
    """Return every method by its name: exact ones first, brute force last of them.

    >>> "planar" in methods(), "no such method" in methods()
    (True, False)
    """
    folder = importlib.import_module("planaris.methods")
    found: list[Method] = []
    for module in pkgutil.iter_modules(folder.__path__):
        loaded = importlib.import_module(f"planaris.methods.{module.name}")
        found += getattr(loaded, "METHODS", ())
    rank = {"exact": 0, "interval": 1, "estimate": 2}

    def place(method: Method) -> tuple[bool, int, bool, str]:
        best = min(rank[task.promise] for task in method.tasks.values())
        return method.name != "auto", best, method.name == "brute-force", method.name

    return {method.name: method for method in sorted(found, key=place)}


def method_names(verb: Verb) -> list[str]:
    """Return the names that ``method=`` of a verb may have.

    >>> method_names("sample")
    ['auto', 'coupling-from-the-past', 'planar', 'treewidth', 'brute-force', 'tensor-network']
    """
    return [name for name, method in methods().items() if verb in method.tasks]


def find_method(name: object, verb: Verb) -> Method:
    """Return a method of a verb; refuse unknown names with the list of known ones.

    >>> find_method("trw", "log_partition").purpose
    'bounds log Z and estimates marginals'
    """
    method = methods().get(name) if isinstance(name, str) else None
    if method is not None and verb in method.tasks:
        return method
    names = ", ".join(map(repr, method_names(verb)))
    if method is None:
        msg = f"`method` must be one of {names}, got {name!r}"
    else:
        msg = f"`method={name!r}` {method.purpose}, which is not asked here; use one of {names}"
    raise MethodError(msg)
