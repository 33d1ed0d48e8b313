"""The best interval so far, and the clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planaris.budget import Budget
from planaris.result import Bounds, LogPartition
from planaris.subgraphs.convex_combination import Callback


class Enclosure:
    """An interval around log Z that only shrinks.

    Parameters
    ----------
    budget : Budget
        Of the whole work.
    callback : callable, optional
        Receives every new upper bound.
    """

    def __init__(self, budget: Budget, callback: Callback | None = None) -> None:
        self.budget, self.callback = budget, callback
        self.limit = budget.remaining()
        self.lower, self.upper = -math.inf, math.inf
        self.trace: list[dict[str, Any]] = []
        self.proof = Bounds(None, None)

    def left(self) -> float:
        """Return the seconds left."""
        return self.budget.remaining()

    def share(self, part: float) -> Budget:
        """Return a budget that leaves ``1 - part`` of the time."""
        return self.budget.share(part)

    def offer(
        self,
        by: str,
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
        proof: Callable[[], Any] | None = None,
    ) -> None:
        """Take what is tighter; ``proof`` makes the proof of it, if it is taken."""
        if lower <= self.lower and upper >= self.upper:
            return
        found = None if proof is None else proof()
        if lower > self.lower:
            self.proof = replace(self.proof, lower=found)
        if upper < self.upper:
            self.proof = replace(self.proof, upper=found)
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)
        seconds = self.budget.seconds()
        self.trace.append({"by": by, "lower": self.lower, "upper": self.upper, "seconds": seconds})
        if self.callback is not None:
            self.callback(self.upper)

    def take(self, by: str, found: LogPartition) -> None:
        """Take both ends of another interval, with their proofs."""
        proof = found.certificate if isinstance(found.certificate, Bounds) else Bounds(None, None)
        self.offer(by, lower=found.lower, proof=lambda: proof.lower)
        self.offer(by, upper=found.upper, proof=lambda: proof.upper)

    def result(self, method: str, num_variables: int, **details: Any) -> LogPartition:
        """Return the interval."""
        lower, upper = self.lower, self.upper
        value = (lower + upper) / 2 if math.isfinite(lower) else upper
        seconds = self.budget.seconds()
        return LogPartition.between(
            lower,
            upper,
            value=value,
            num_variables=num_variables,
            method=method,
            seconds=seconds,
            trace=self.trace,
            certificate=self.proof,
            **details,
        )
