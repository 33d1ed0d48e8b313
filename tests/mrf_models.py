"""Small random Markov random fields for tests: mixed cardinalities, zeros, up to 4-ary factors."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from planaris import MarkovRandomField


def random_mrf(
    rng: np.random.Generator,
    *,
    num_variables: int = 5,
    num_factors: int = 6,
    max_labels: int = 3,
    min_labels: int = 1,
    max_arity: int = 4,
    zeros: float = 0.0,
    log: bool = False,
) -> MarkovRandomField:
    cards = rng.integers(min_labels, max_labels + 1, num_variables)
    factors = []
    for _ in range(num_factors):
        arity = int(rng.integers(0, min(max_arity, num_variables) + 1))
        scope = rng.permutation(num_variables)[:arity]
        logs = rng.normal(size=cards[scope])
        logs = np.where(rng.random(logs.shape) < zeros, -np.inf, logs)
        factors.append((scope, logs if log else np.exp(logs)))
    return MarkovRandomField(cards, factors, log=log)


@st.composite
def mrfs(draw: st.DrawFn, **fixed: object) -> MarkovRandomField:
    options: dict[str, object] = {
        "num_variables": draw(st.integers(0, 6)),
        "num_factors": draw(st.integers(0, 8)),
        "max_labels": draw(st.integers(1, 4)),
        "max_arity": draw(st.integers(0, 4)),
        "zeros": draw(st.sampled_from([0.0, 0.2, 0.6])),
        "log": draw(st.booleans()),
    }
    options.update(fixed)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_mrf(rng, **options)  # type: ignore[arg-type]
