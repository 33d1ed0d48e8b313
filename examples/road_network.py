"""A road network with overpasses.

Roads meet at junctions and make a planar graph, but for a few overpasses. Each junction is either
busy or quiet (a spin), and most roads make their ends agree. An overpass costs at most a handle:
with g handles the partition function is a sum of 4^g Pfaffians, exact still, and so are the
marginals. The interval that needs no handles is printed beside it.
"""

from pathlib import Path

import numpy as np
import typer
from matplotlib.collections import LineCollection

import planaris as pl
from planaris.bounds import interval
from planaris.embed import embedding_with_handles
from planaris.report.pictures import DOWN, UP, new_figure


def roads(
    size: int, overpasses: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return junctions, roads, and how many of the roads (the first ones) are at ground level."""
    ground = pl.generate.random_planar_graph(size, int(1.6 * size), rng)
    where, have = ground.positions, {tuple(sorted(e)) for e in ground.edges.tolist()}
    extra: list[tuple[int, int]] = []
    while len(extra) < overpasses:
        u = int(rng.integers(size))
        near = np.argsort(np.hypot(*(where - where[u]).T))[6:12]
        v = int(rng.choice(near))
        pair = (min(u, v), max(u, v))
        if pair not in have:
            have.add(pair)
            extra.append(pair)
    return where, np.concatenate([ground.edges, extra]), len(ground.edges)


def main(
    size: int = 120, overpasses: int = 3, seed: int = 4, out: Path = Path("road_network.png")
) -> dict[str, float]:
    """Solve a network of SIZE junctions with some OVERPASSES (at most six handles)."""
    rng = np.random.default_rng(seed)
    where, edges, ground = roads(size, overpasses, rng)
    model = pl.IsingModel(edges, rng.normal(0.5, 0.6, len(edges)), num_spins=size)
    embedding = embedding_with_handles(model.edges, num_vertices=size)
    exact = pl.log_partition(model, embedding=embedding)
    agree = pl.marginals(model, embedding=embedding).edges
    bounded = interval(model, time_limit=2.0)
    state = pl.ground_state(model)
    print(f"{size} junctions, {len(edges)} roads, genus {embedding.genus}")
    print(f"log Z = {exact.value:.9f} ± {exact.gap / 2:.0e} with handles")
    print(f"log Z in [{bounded.lower:.4f}, {bounded.upper:.4f}] without ({bounded.method})")
    print(f"least energy {state.energy:.6f}, exact: {state.exact}")
    figure, ((left, right),) = new_figure(1, 2, size=5)
    for axes, colours, title in (
        (left, agree, "probability that the ends of a road agree"),
        (
            right,
            (state.spins[edges[:, 0]] == state.spins[edges[:, 1]]) * 1.0,
            "most probable state",
        ),
    ):
        lines = LineCollection(list(where[edges]), array=colours, cmap="coolwarm_r", lw=1.8)
        lines.set_clim(0, 1)
        axes.add_collection(lines)
        bridges = LineCollection(list(where[edges[ground:]]), colors="black", lw=4, zorder=0)
        axes.add_collection(bridges)
        axes.set(title=title, xticks=[], yticks=[])
        axes.autoscale_view()
        axes.set_aspect("equal")
    right.scatter(*where.T, c=np.where(state.spins > 0, UP, DOWN), edgecolors=DOWN, s=25, zorder=3)
    left.plot([], [], color="black", lw=4, label="overpass")
    left.legend(loc="lower left")
    figure.colorbar(lines, ax=[left, right], shrink=0.7)
    figure.savefig(out, dpi=100)
    return {
        "genus": float(embedding.genus),
        "value": exact.value,
        "lower": bounded.lower,
        "upper": bounded.upper,
        "exact": float(exact.exact and state.exact),
    }


if __name__ == "__main__":
    typer.run(main)
