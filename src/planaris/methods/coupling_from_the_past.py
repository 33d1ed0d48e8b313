"""Exact samples of models without frustrated cycles, by coupling from the past."""

from __future__ import annotations

from planaris import cuts, sampling
from planaris.budget import Budget
from planaris.methods.registry import Method, Question, Task
from planaris.models import IsingModel
from planaris.typing import Int8Array


def _sample(asked: Question) -> Int8Array:
    return sampling.sample(asked.model, asked.num_samples, asked.rng, time_limit=asked.budget)


def _refusal(model: IsingModel, budget: Budget) -> str | None:
    return None if cuts.is_submodular(model) else "it has a frustrated cycle"


METHODS = [
    Method(
        "coupling-from-the-past",
        "draws exact samples of models without frustrated cycles",
        {"sample": Task(_sample, "exact")},
        refusal=_refusal,
        slow_on="ferromagnet",
    )
]
