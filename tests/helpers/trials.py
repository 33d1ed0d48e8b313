"""How many random trials a test makes: some of them in ``make test``, all with ``--slow``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

_chosen = {"all": False}


def choose_all(every: bool) -> None:
    """Let tests that are collected from now on make all of their trials."""
    _chosen["all"] = every


def examples(every: int) -> settings:
    """Return the settings of a test with so many examples; ``make test`` makes fewer.

    A third of them, and no more than a hundred.

    >>> examples(600).max_examples in (100, 600)
    True
    """
    return settings(max_examples=every if _chosen["all"] else min(every // 3, 100))


def trials(quick: int, every: int) -> int:
    """Return how many trials a loop makes: ``quick`` in ``make test``, else ``every``.

    >>> trials(10, 30) in (10, 30)
    True
    """
    return every if _chosen["all"] else quick


def seeds(quick: int, every: int) -> Iterable[Any]:
    """Return numbers below ``quick`` in ``make test``, else below ``every``; the rest are slow.

    Tests that would only be skipped are not made: collecting and reporting thousands takes longer
    than many that run.

    >>> len(list(seeds(1, 3))) in (1, 3)
    True
    """
    return [
        *range(quick),
        *(pytest.param(k, marks=pytest.mark.slow) for k in range(quick, trials(quick, every))),
    ]
