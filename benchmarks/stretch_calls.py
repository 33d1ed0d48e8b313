"""Calls besides the verbs whose stretches are measured: those with a time limit, and those without.

Each entry prepares what its call takes and returns the call; preparations are not measured.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import stim

import planaris as pl
from planaris.generate import noisy_mask, shape_mask, square_lattice
from planaris.interop import dimod as samplers
from planaris.interop.stim import Decoder, fit
from planaris.io.model_files import EXTENSIONS
from planaris.learn import GridCRF, PlanarCRF, segment_image
from planaris.matching import TJoinSolver, min_weight_perfect_matching, minimum_tjoin
from planaris.recover import MAP, LocalLP, Marginal, TwoStep, estimate_noise, observe, two_clusters
from planaris.selftest.interruptions.interrupts import lattice

Limited = Callable[[float], Any]
"""Takes a limit in seconds."""


def code(distance: int, p: float, rounds: int = 1) -> stim.DetectorErrorModel:
    """Return a surface code (one round, perfect measurements) or a repetition code."""
    if rounds == 1:
        return stim.Circuit.generated(
            "surface_code:rotated_memory_z",
            distance=distance,
            rounds=1,
            before_round_data_depolarization=1.5 * p,
        ).detector_error_model()
    return stim.Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=rounds,
        after_clifford_depolarization=p,
        before_measure_flip_probability=p,
    ).detector_error_model()


def shots_of(dem: stim.DetectorErrorModel, count: int) -> Any:
    """Return detection events."""
    return dem.compile_sampler(seed=0).sample(count)[0]


def decoding(answer: str, count: int, **options: Any) -> Callable[[], Limited]:
    """Return what prepares the decoding of shots of a repetition code of 60² detectors."""

    def prepare() -> Limited:
        dem = code(61, 0.02, rounds=59)
        decoder, shots = Decoder(dem, threads=1, **options), shots_of(dem, count)
        return lambda limit: getattr(decoder, answer)(shots, time_limit=limit)

    return prepare


def fitting() -> Limited:
    """Prepare the fit of a code of 144 detectors."""
    dem = code(13, 0.01, rounds=11)
    shots = shots_of(dem, 100_000)
    return lambda limit: fit(dem, shots, time_limit=limit, threads=1)


def rigid(side: int, **options: Any) -> Limited:
    """Prepare a model, whose structure is not known yet."""
    model = lattice(side, **options)
    return lambda limit: pl.rigid_edges(model, time_limit=limit, threads=1)


def wall() -> Limited:
    """Prepare a cylinder of 300²."""
    edges = pl.generate.cylinder(300, 300).edges
    model = pl.IsingModel(edges, np.random.default_rng(0).normal(size=len(edges)))
    return lambda limit: pl.domain_wall(model, (300, 300), time_limit=limit, threads=1)


def sweep(side: int, **options: Any) -> Limited:
    """Prepare a temperature sweep."""
    model = lattice(side, **options)
    betas = [0.2, 0.5]
    return lambda limit: pl.thermodynamics(model, betas, time_limit=limit, threads=1)


def planned(answer: str, side: int, *more: Any) -> Callable[[], Limited]:
    """Return what prepares a call of a plan."""

    def prepare() -> Limited:
        model = lattice(side)
        plan = pl.plan(pl.Embedding.from_graph(model.edges, num_vertices=model.num_spins))
        ask = getattr(plan, answer)
        return lambda limit: ask(model.couplings, *more, time_limit=limit)

    return prepare


def joining(num_odd: int) -> Limited:
    """Prepare a T-join of a lattice of 400²."""
    grid, rng = square_lattice(400), np.random.default_rng(0)
    weights, odd = rng.random(len(grid.edges)), rng.choice(160_000, num_odd, replace=False)
    return lambda limit: minimum_tjoin(160_000, grid.edges, weights, odd, time_limit=limit)


def pairing() -> Limited:
    """Prepare a perfect matching of a lattice of 200²."""
    grid = square_lattice(200)
    weights = np.random.default_rng(0).random(len(grid.edges))
    return lambda limit: min_weight_perfect_matching(
        40_000, grid.edges, weights, time_limit=limit, threads=1
    )


def many_joins() -> Limited:
    """Prepare many small T-joins of a lattice of 400²."""
    grid, rng = square_lattice(400), np.random.default_rng(0)
    solver = TJoinSolver(160_000, grid.edges, rng.random(len(grid.edges)))
    sets = [rng.choice(160_000, 20, replace=False) for _ in range(20_000)]
    return lambda limit: solver.solve_many(sets, time_limit=limit)


def recovering(make: Callable[[float], Any], side: int) -> Callable[[], Limited]:
    """Return what prepares observations of a lattice for an estimator."""

    def prepare() -> Limited:
        seen = observe(square_lattice(side), -1, 0.06, 0.4, np.random.default_rng(side))
        return lambda limit: make(limit).recover(seen, 0)

    return prepare


def clustering() -> Limited:
    """Prepare a signed lattice of 200² as a networkx graph."""
    graph, rng = nx.grid_2d_graph(200, 200), np.random.default_rng(0)
    for u, v in graph.edges:
        graph[u][v]["weight"] = float(rng.normal())
    return lambda limit: two_clusters(graph, time_limit=limit)


def dimod_sampling(model: pl.IsingModel, *more: Any) -> Limited:
    """Prepare a binary quadratic model for the samplers of dimod."""
    bqm = model.to_bqm()
    return lambda limit: samplers.AutoSampler().sample(bqm, *more, time_limit=limit)


def one_of_many(verb: str) -> Callable[[], Limited]:
    """Return what prepares one model of :func:`planaris.solve_many`, in this process."""
    from planaris.experiments.many import solve_one

    def prepare() -> Limited:
        given = {"name": "", "given": lattice(400), "verb": verb, "method": "auto", "format": None}
        return lambda limit: solve_one({**given, "time_limit": limit})

    return prepare


LIMITED: dict[str, Callable[[], Limited]] = {
    "rigid_edges 300²": lambda: rigid(300),
    "rigid_edges 100² with fields": lambda: rigid(100, fields=True),
    "domain_wall 300²": wall,
    "thermodynamics 400²": lambda: sweep(400),
    "thermodynamics 100² with fields": lambda: sweep(100, fields=True),
    "plan.log_partition 400²": planned("log_partition", 400),
    "plan.marginals 400²": planned("marginals", 400),
    "plan.sample 300²": planned("sample", 300, 5, 0),
    "minimum_tjoin 400², 20,000 odd": lambda: joining(20_000),
    "minimum_tjoin 400², 160,000 odd": lambda: joining(160_000),
    "min_weight_perfect_matching 200²": pairing,
    "TJoinSolver.solve_many 400²": many_joins,
    "decoder, ml: posterior": decoding("posterior", 2_000),
    "decoder, ml: llr": decoding("llr", 2_000),
    "decoder, ml: log_likelihood": decoding("log_likelihood", 200),
    "decoder, ml: gap": decoding("gap", 2_000),
    "decoder, matching: decode": decoding("decode", 2_000, method="matching"),
    "fit of noise": fitting,
    "recover MAP 150²": recovering(lambda t: MAP(0.06, 0.4, time_limit=t), 150),
    "recover Marginal 100²": recovering(lambda t: Marginal(0.06, 0.4, time_limit=t), 100),
    "two_clusters 200²": clustering,
    "dimod ground state 300²": lambda: dimod_sampling(lattice(300)),
    "dimod samples 100²": lambda: dimod_sampling(lattice(100), None, 100, 0.5, 0),
    "solve_many, ground_state 400²": one_of_many("ground_state"),
    "solve_many, marginals 400²": one_of_many("marginals"),
}
"""Calls with a time limit; names of calls, and what prepares them."""


def fitted(crf: Any, side: int, count: int) -> Callable[[], Any]:
    """Prepare the training of a field on noisy masks."""
    rng = np.random.default_rng(0)
    masks = [shape_mask((side, side), rng, split_corners=True) for _ in range(count)]
    images = [noisy_mask(mask, 2.0, rng) for mask in masks]
    return lambda: crf.fit(images, masks)


def reading(name: str, *, fields: bool = True) -> Callable[[], Any]:
    """Prepare the file of a lattice of 400²."""
    text, kind = io.BytesIO(), EXTENSIONS[Path(name).suffix]
    pl.io.write_model(lattice(400, fields=fields), text, format=kind)
    return lambda: pl.io.read_model(io.BytesIO(text.getvalue()), format=kind)


def segmenting() -> Callable[[], Any]:
    """Prepare the segmentation of an image of 200²."""
    rng = np.random.default_rng(0)
    mask = shape_mask((200, 200), rng)
    image = noisy_mask(mask, 2.0, rng)
    return lambda: segment_image(image)


def quietly(make: Callable[[], Any], side: int) -> Callable[[], Any]:
    """Prepare observations of a lattice for an estimator without a limit."""
    seen = observe(square_lattice(side), -1, 0.06, 0.4, np.random.default_rng(side))
    return lambda: make().recover(seen, 0)


def noise_levels() -> Callable[[], Any]:
    """Prepare observations of a lattice of 300² whose noise is to be estimated."""
    seen = observe(square_lattice(300), -1, 0.06, 0.4, np.random.default_rng(0))
    return lambda: estimate_noise(seen)


def building() -> Callable[[], Any]:
    """Prepare the error model of a decoder of 60² detectors."""
    dem = code(61, 0.02, rounds=59)
    return lambda: Decoder(dem)


def converting(model: pl.IsingModel) -> Callable[[], Any]:
    """Prepare a binary quadratic model."""
    bqm = model.to_bqm()
    return lambda: pl.IsingModel.from_bqm(bqm)


UNLIMITED: dict[str, Callable[[], Callable[[], Any]]] = {
    "PlanarCRF likelihood, 2 of 100²": lambda: fitted(PlanarCRF(peg="corners"), 100, 2),
    "PlanarCRF margin, 2 of 100²": lambda: fitted(PlanarCRF("margin", peg="corners"), 100, 2),
    "GridCRF, 2 of 100²": lambda: fitted(GridCRF(), 100, 2),
    "GridCRF likelihood, 2 of 60²": lambda: fitted(GridCRF("likelihood"), 60, 2),
    "segment_image 200²": segmenting,
    "recover TwoStep 400²": lambda: quietly(TwoStep, 400),
    "recover LocalLP 150²": lambda: quietly(lambda: LocalLP(0.06, 0.4), 150),
    "estimate_noise 300²": noise_levels,
    "build a decoder of 60² detectors": building,
    "read UAI": lambda: reading("m.uai"),
    "read an edge list": lambda: reading("m.el", fields=False),
    "read QUBO": lambda: reading("m.qubo"),
    "from dimod 400²": lambda: converting(lattice(400)),
}
"""Calls without a time limit: how soon they hear of Ctrl-C."""
