"""Structure that is found once per model and shared by everything that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from planaris.errors import EmbeddingError, NotPlanarError, PlanarisError

Model = TypeVar("Model")
Given = ParamSpec("Given")
Found = TypeVar("Found")

REMEMBERED = (NotPlanarError, EmbeddingError)
"""Refusals that are as final as answers."""


def memo_of(model: Any) -> dict[Hashable, Any]:
    """Return what is remembered of a model. Models do not change, so it stays true.

    Copies and pickles of a model begin with nothing.
    """
    memo: dict[Hashable, Any] | None = getattr(model, "_memo", None)
    if memo is None:
        memo = {}
        model._memo = memo
    return memo


def once_per_model(
    find: Callable[Concatenate[Model, Given], Found],
) -> Callable[Concatenate[Model, Given], Found]:
    """Let a function of a model, and of hashable arguments, compute its answer once.

    A refusal because the model is not planar is remembered too.

    Examples
    --------
    >>> from planaris.models import IsingModel
    >>> @once_per_model
    ... def count(model):
    ...     print("counting")
    ...     return model.num_edges
    >>> pair = IsingModel([(0, 1)], [1.0])
    >>> count(pair), count(pair)
    counting
    (1, 1)
    """

    @wraps(find)
    def found(model: Model, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        memo = memo_of(model)
        key = (find.__module__, find.__qualname__, args, tuple(sorted(kwargs.items())))
        if key not in memo:
            try:
                memo[key] = find(model, *args, **kwargs)
            except REMEMBERED as reason:
                memo[key] = _Refusal(reason)
        answer = memo[key]
        if isinstance(answer, _Refusal):
            raise answer.reason.with_traceback(None)
        return answer  # type: ignore[no-any-return]

    return found


@dataclass(frozen=True)
class _Refusal:
    reason: PlanarisError
