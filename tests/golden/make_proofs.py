"""Make proofs.json: log Z of lattices of about a thousand spins, enclosed in ball arithmetic.

    python tests/golden/make_proofs.py    what is missing (about a minute for each value)

Values are kept with a digest of edges and couplings: a generator that gives other models is seen.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

import planaris as pl

TARGET = Path(__file__).with_name("proofs.json")
SIZE = 32
LATTICES = ("square", "triangular", "honeycomb", "delaunay")
KINDS = ("gaussian", "bimodal")
BETAS = (0.1, 1.0, 3.0, 10.0, 30.0)


def cases() -> Iterator[tuple[str, pl.Plan, np.ndarray]]:
    """Yield (name, plan, couplings) of all models."""
    for name, kind in product(LATTICES, KINDS):
        rng = np.random.default_rng([SIZE, LATTICES.index(name), KINDS.index(kind)])
        plan = pl.plan(lattice(name, rng))
        size = plan.num_edges
        disorder = rng.normal(size=size) if kind == "gaussian" else rng.choice([-1.0, 1.0], size)
        for beta in BETAS:
            yield f"{name} {kind} {beta}", plan, beta * disorder


def lattice(name: str, rng: np.random.Generator):
    if name == "delaunay":
        return pl.generate.random_triangulation(SIZE * SIZE, rng)
    return getattr(pl.generate, f"{name}_lattice")(SIZE)


def digest(plan: pl.Plan, couplings: np.ndarray) -> str:
    """Return what tells models apart."""
    edges = np.asarray(plan.embedding.edges, dtype="<i8")
    return hashlib.sha256(edges.tobytes() + couplings.astype("<f8").tobytes()).hexdigest()[:16]


def main() -> None:
    from helpers.ball_fronts import ball_log_partition

    found = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name, plan, couplings in cases():
        model = digest(plan, couplings)
        if found.get(name, {}).get("model") == model:
            continue
        spins = plan.ground_states(couplings).spins
        ball = ball_log_partition(plan.embedding, couplings, spins)
        found[name] = {"model": model, "log_partition": ball.str(30)}
        TARGET.write_text(json.dumps(found, indent=1) + "\n")
        print(name, ball.str(30), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
