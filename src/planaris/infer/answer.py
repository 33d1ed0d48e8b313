"""From a verb and the name of a method to an answer."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, TypeVar

from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError, ModelError
from planaris.methods.registry import Method, Model, Question, Verb, find_method, methods
from planaris.models import MarkovRandomField
from planaris.progress import ProgressOption
from planaris.reductions.ising_form import IsingForm
from planaris.result import Answer

Found = TypeVar("Found", bound=Answer)


def answer(verb: Verb, asked: Question, name: object) -> Any:
    """Answer a question by a method of a verb, through spins where it takes nothing else."""
    method = find_method(name, verb)
    task, model = method.tasks[verb], asked.model
    if asked.device is not None and not task.devices:
        able = [repr(k) for k, m in methods().items() if verb in m.tasks and m.tasks[verb].devices]
        msg = f"`device` needs a method that has one: {', '.join(able)}, got {method.name!r}"
        raise MethodError(msg)
    if not isinstance(model, MarkovRandomField) or task.takes == "labels":
        return task.run(asked)
    try:
        form = IsingForm.apply(model)
    except MethodError as reason:
        if task.takes == "spins first":
            return task.run(asked)
        raise _refusal(method, verb, reason) from reason
    found = task.run(replace(asked, model=form.model))
    return form.lift_states(found) if verb == "sample" else form.lift(found)


def named(found: Found, model: Model) -> Found:
    """Return a result with the names of the model's variables, where they have names."""
    return found if isinstance(model.labels, range) else replace(found, names=model.labels)


def _refusal(method: Method, verb: Verb, reason: MethodError) -> MethodError:
    others = [
        repr(name)
        for name, other in methods().items()
        if verb in other.tasks and other.tasks[verb].takes != "spins"
    ]
    msg = f"`method={method.name!r}` needs an Ising model: {reason}. Use one of {', '.join(others)}"
    return MethodError(msg, **reason.evidence)


def verb_budget(
    time_limit: TimeLimit,
    memory_limit: int | None,
    threads: int | None,
    progress: ProgressOption,
    *,
    prove: bool = False,
) -> Budget:
    """Return the budget of a verb, which refuses a time limit of zero."""
    if not isinstance(time_limit, Budget) and time_limit == 0:
        msg = f"`time_limit` must be a positive number of seconds, got {time_limit!r}"
        raise MethodError(msg)
    return Budget.of(
        time_limit, memory_limit=memory_limit, threads=threads, progress=progress, prove=prove
    )


def check_model(model: object) -> None:
    """Refuse what is no model, with the way to make one of it."""
    if isinstance(model, Model):
        return
    kind = type(model)
    family = kind.__module__.split(".")[0]
    ways = {
        "networkx": "IsingModel.from_networkx(graph)",
        "dimod": "IsingModel.from_bqm(bqm)",
        "numpy": "IsingModel.from_matrix(J)",
        "scipy": "IsingModel.from_matrix(J)",
    }
    if isinstance(model, str | os.PathLike):
        way = "planaris.io.read_model(file)"
    else:
        way = ways.get(family, "IsingModel(edges, couplings)")
    msg = (
        f"`model` must be an IsingModel or a MarkovRandomField, got {kind.__name__}; "
        f"make one with {way}"
    )
    raise ModelError(msg)
