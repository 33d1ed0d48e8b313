"""Messages between planar subgraphs that make one state optimal in all of them.

A split φ of the couplings, ``Σ_r φ^r = θ``, proves a state s minimal when s is a ground state of
every subgraph. Where subgraph r prefers another state, the two differ in a cut of r: the others
send r what it lacks on the edges of that cut, a little more than is missing. That is a projection
onto a half-space which holds all splits that prove s with some margin, so if there are any, the
messages end after finitely many (Agmon 1954; Motzkin and Schoenberg 1954).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.subgraphs.bias_model import BiasModel
from planaris.typing import FloatArray, Int8Array, LongArray

MARGINS = (1e-2, 1e-3, 1e-4, 1e-5)
"""Tried in turn, in units of the mean coupling: large ones end sooner where there is room."""

SWEEPS = 80
"""Messages from every subgraph, for one margin."""

Solver = Callable[[FloatArray], tuple[float, FloatArray, Int8Array, Any]]
"""From couplings to (largest weight, s_u s_v of a best state, it, its proof)."""


def exchange_messages(
    bare: BiasModel,
    family: list[LongArray],
    solvers: list[Solver],
    split: list[FloatArray],
    state: Int8Array,
    budget: Budget,
) -> list[FloatArray] | None:
    """Return a split that proves a state of the bias model minimal, or None if none is found."""
    u, v = bare.edges.T
    agree = state[u].astype(np.float64) * state[v]
    count = np.bincount(np.concatenate(family), minlength=bare.num_edges)
    holds = np.zeros((len(family), bare.num_edges), dtype=bool)
    start = np.zeros(holds.shape)
    for r, members in enumerate(family):
        holds[r, members], start[r, members] = True, split[r]
    unit = float(np.abs(bare.couplings[bare.couplings != 0]).mean())
    for margin in MARGINS:
        shares = start.copy()
        for _ in range(SWEEPS):
            satisfied = True
            for r, members in enumerate(family):
                if budget.expired():
                    return None
                value, moments, _, _ = solvers[r](shares[r, members])
                lacks = value - float(shares[r, members] @ agree[members])
                if lacks <= 1e-13 * unit * len(members):
                    continue
                satisfied = False
                cut = members[moments != agree[members]]
                cut = cut[count[cut] > 1]
                if not len(cut):
                    return None  # nobody can send r anything
                part = 1.0 / count[cut]
                step = (lacks + margin * unit) / (2 * float((1 - part).sum()))
                shares[:, cut] -= np.where(holds[:, cut], step * part * agree[cut], 0.0)
                shares[r, cut] += step * agree[cut]
            if satisfied:
                return [shares[r, members] for r, members in enumerate(family)]
    return None
