"""Which tori are recognised whose vertices are shuffled and of whose edges some are missing.

``python benchmarks/bench_tori.py [--seeds 12]`` prints the table of docs/theory/surfaces.md: the
share recognised of the lattices on a torus that are not planar, and the most processor seconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from planaris.embed import Embedding, low_genus_embedding, torus_lattice

SHARES = (0.0, 0.1, 0.2, 0.3)


def honeycomb(side: int) -> np.ndarray:
    """Return the edges of a honeycomb of side × side hexagons on the torus."""
    row, column = np.divmod(np.arange(side * side), side)
    here = 2 * (row * side + column)
    right = 2 * (row * side + (column + 1) % side)
    below = 2 * ((row + 1) % side * side + column)
    return np.concatenate([np.stack([here + 1, other], 1) for other in (here, right, below)])


def diluted(edges: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, int]:
    """Return what is left without a share of the edges, numbers shuffled."""
    rng = np.random.default_rng(seed)
    count = int(edges.max()) + 1
    left = edges[rng.random(len(edges)) >= share]
    return rng.permutation(rng.permutation(count)[left]), count


def measure(name: str, edges: np.ndarray, seeds: int) -> None:
    """Print the line of a lattice."""
    cells, slowest = [name], 0.0
    for share in SHARES:
        found = tried = 0
        for seed in range(seeds):
            left, count = diluted(edges, share, seed)
            if Embedding.if_planar(left, num_vertices=count) is not None:
                continue
            began = time.process_time()
            surface = low_genus_embedding(left, count)
            slowest = max(slowest, time.process_time() - began)
            tried += 1
            found += surface is not None and surface.embedding.genus == 1
        cells.append(f"{found} of {tried}")
    print("| " + " | ".join([*cells, f"{slowest:.2g}"]) + " |", flush=True)


def main() -> None:
    """Measure every lattice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    low_genus_embedding(
        diluted(honeycomb(8), 0.05, 0)[0], 128
    )  # what is imported at the first call
    print("| lattice | none missing | 10 % | 20 % | 30 % | processor seconds at most |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in ("square", "triangular"):
        for side in (16, 32, 64):
            measure(f"{kind}, L = {side}", torus_lattice(side, side, kind).edges, options.seeds)
    for side in (16, 32, 64):
        measure(f"honeycomb, L = {side}", honeycomb(side), options.seeds)


if __name__ == "__main__":
    main()
