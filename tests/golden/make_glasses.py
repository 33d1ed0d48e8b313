"""Make glasses.json: log Z of square-lattice glasses, enclosed in ball arithmetic.

    python tests/golden/make_glasses.py            all values by the transfer matrix (minutes)
    python tests/golden/make_glasses.py --check    and again by determinants, where affordable

Any program can rebuild an instance: an L × L grid with open boundaries, site (r, c) = r L + c,

    rng = numpy.random.default_rng(seed)
    m = 2 L (L - 1)
    J = rng.normal(size=m)                     # kind "gaussian"
    J = rng.choice([-1.0, 1.0], m)             # kind "bimodal"

where J lists first the couplings to the right neighbour, row by row (L rows of L - 1), then those
to the neighbour below, row by row (L - 1 rows of L). P(s) ∝ exp(Σ K_uv s_u s_v) with K = beta * J
rounded to double; no fields. ``energy`` is the minimum of -Σ J s s.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).with_name("glasses.json")
SIZES = {10: (1, 3, 10, 20, 50, 100, 300, 1000), 16: (1, 3, 10, 20, 50, 100)}
SEEDS = {10: (0, 1, 2), 16: (3,)}
CHECKED = {10: 1000, 16: 3}
"""Largest beta that is computed by a determinant too."""


def glass_couplings(size: int, kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    m = 2 * size * (size - 1)
    return rng.normal(size=m) if kind == "gaussian" else rng.choice([-1.0, 1.0], m)


def as_image(size: int, couplings: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(fields, right, down), the arguments of IsingModel.from_image."""
    right, down = np.split(couplings, [size * (size - 1)])
    fields = np.zeros((size, size))
    return fields, right.reshape(size, size - 1), down.reshape(size - 1, size)


def by_transfer_matrix() -> list[dict]:
    from planaris.reference import ball
    from planaris.reference.transfer_matrix import solve_strip

    found = []
    for size, betas in SIZES.items():
        for kind in ("gaussian", "bimodal"):
            for seed in SEEDS[size]:
                couplings = glass_couplings(size, kind, seed)
                strip = solve_strip(*as_image(size, couplings))
                values = {}
                for beta in betas:
                    image = as_image(size, beta * couplings)
                    values[str(beta)] = ball.strip_log_partition(*image, digits=30).stats["digits"]
                    print(size, kind, seed, beta, values[str(beta)], flush=True)
                entry = {"size": size, "kind": kind, "seed": seed, "energy": strip.energy}
                if kind == "bimodal":
                    entry["num_ground_states"] = strip.num_ground_states
                found.append({**entry, "log_partition": values})
    return found


def check_by_determinants(entries: list[dict]) -> None:
    from flint import arb, ctx

    from planaris import IsingModel
    from planaris.embed.handles import embedding_with_handles
    from planaris.reference import ball

    ctx.prec = 256
    for entry in entries:
        size = entry["size"]
        couplings = glass_couplings(size, entry["kind"], entry["seed"])
        grid = IsingModel.from_image(*as_image(size, couplings))
        embedding = embedding_with_handles(grid.edges, grid.positions)
        bits = 512
        for beta, stored in entry["log_partition"].items():
            if float(beta) > CHECKED[size] or (size == 10 and entry["seed"] > 0):
                continue
            result = ball.log_partition(embedding, float(beta) * couplings, digits=30, bits=bits)
            bits = result.stats["bits"]
            assert arb(stored).overlaps(arb(result.stats["digits"])), (entry, beta, result)
            print(size, entry["kind"], beta, "confirmed with", bits, "bits", flush=True)


def main() -> None:
    if "--only-check" not in sys.argv:
        data = {"about": (__doc__ or "").split("\n\n", 2)[2], "glasses": by_transfer_matrix()}
        TARGET.write_text(json.dumps(data, indent=1) + "\n")
    if "--check" in sys.argv or "--only-check" in sys.argv:
        check_by_determinants(json.loads(TARGET.read_text())["glasses"])


if __name__ == "__main__":
    main()
