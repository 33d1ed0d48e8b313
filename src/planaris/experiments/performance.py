"""The performance table: planaris beside the packages that solve the same, on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

import networkx as nx
import numpy as np

from planaris.embed import embed
from planaris.generate import random_triangulation, side_chain_model, spin_glass
from planaris.infer import ground_state, log_partition
from planaris.kernels.graph import embed_planar
from planaris.models import IsingModel
from planaris.planar import plan
from planaris.relax import branch_and_cut
from planaris.report.marked import insert_between

BEGIN, END = "<!-- planaris bench: begin -->", "<!-- planaris bench: end -->"
PATIENCE = 60.0
"""Seconds a peer may take before it is stopped, where it can be."""


@dataclass(frozen=True)
class Row:
    """One measurement: what, how large, who, processor seconds, and whether the answers agree.

    ``peer_seconds`` is None where the peer was not tried at this size. A peer that is not
    installed has no row.
    """

    task: str
    size: str
    seconds: float
    peer: str
    peer_seconds: float | None
    agrees: bool | None
    remark: str = ""


def measure(*, full: bool = False) -> Iterator[Row]:
    """Yield the rows of the table, the smaller sizes by default.

    Every peer solves the instance planaris has just solved, and its answer is compared.
    """
    for size in (100, 300, 1000) if full else (50, 100):
        yield from _ground_states(size)
    for size in (100, 300) if full else (50, 100):
        yield from _partition_functions(size)
    for size in (21, 50):
        yield from _batch(size)
    for size in (100_000, 1_000_000) if full else (10_000,):
        yield from _planarity(size)
    for size in (60, 120) if full else (40,):
        yield from _side_chains(size)


def render_table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table.

    >>> print(render_table([Row("log Z", "4²", 0.001, "peer", 0.01, True)]))
    | task | size | planaris | peer | its time | ratio | |
    | --- | --- | --- | --- | --- | --- | --- |
    | log Z | 4² | 1.0 ms | peer | 10.0 ms | 10× | same answer |
    """
    table = []
    for row in rows:
        ratio = "–" if row.peer_seconds is None else _ratio(row.peer_seconds / row.seconds)
        words = {True: "same answer", False: "another answer", None: ""}[row.agrees]
        cells = [row.task, row.size, _time(row.seconds), row.peer, _time(row.peer_seconds), ratio]
        table.append([*cells, row.remark or words])
    return markdown_table(["task", "size", "planaris", "peer", "its time", "ratio", ""], table)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return cells as a Markdown table.

    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def insert_table(text: str, table: str, *, begin: str = BEGIN, end: str = END) -> str:
    """Return a text with the table put between its two marks.

    >>> "old" in insert_table(f"a {BEGIN} old {END} b", "new")
    False
    """
    return insert_between(text, begin, end, f"\n{table}\n")


def update_file(path: Path, table: str, *, begin: str = BEGIN, end: str = END) -> None:
    """Put the table between the marks of a file."""
    from planaris.report.page import write_page

    text = path.read_text(encoding="utf-8")
    write_page(path, insert_table(text, table, begin=begin, end=end))


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1000 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"


def _ratio(value: float) -> str:
    return f"{value:.0f}×" if value >= 10 else f"{value:.1f}×"


def _timed(
    work: Callable[..., Any], repeats: int = 3, *, fresh: Callable[[], Any] | None = None
) -> tuple[float, Any]:
    """Return the least processor time of some runs, fewer if long, and the answer.

    Every run is given what ``fresh`` makes, which is not timed: a model keeps the structure that
    was found once, and a second run on it would have less to do. Libraries of linear algebra get
    one thread: others would spin, and count as work.
    """
    from threadpoolctl import threadpool_limits

    best, answer = float("inf"), None
    with threadpool_limits(1):
        for _ in range(repeats):
            given = () if fresh is None else (fresh(),)
            start = process_time()
            answer = work(*given)
            best = min(best, process_time() - start)
            if best > 5:
                break
    return best, answer


def _is_installed(package: str) -> bool:
    """Return whether a package can be imported: it is there, and so is all that it needs."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def _glass(size: int) -> IsingModel:
    return spin_glass(size, np.random.default_rng(size))


def _ground_states(size: int) -> Iterator[Row]:
    if not _is_installed("pymatching"):
        return
    fresh = partial(_glass, size)
    seconds, ours = _timed(lambda glass: ground_state(glass, threads=1), fresh=fresh)
    task, label = "ground state, Gaussian glass", f"{size}²"
    theirs, weight = _timed(_pymatching, fresh=fresh)
    energy = 2 * weight - float(np.abs(fresh().couplings).sum())
    same = abs(energy - ours.energy) <= 1e-4 * abs(ours.energy)
    remark = "" if same else f"energy {energy - ours.energy:.3g} higher: whole-number weights"
    yield Row(task, label, seconds, "PyMatching", theirs, same, remark)


def _pymatching(glass: IsingModel) -> float:
    """Return the weight of the lightest set of unsatisfied couplings, embedding included."""
    from pymatching import Matching
    from scipy.sparse import csc_array

    plane = embed(glass)
    outer = plane.num_faces - 1
    negative = np.repeat(glass.couplings < 0, 2)
    odd = np.bincount(plane.face_of[negative], minlength=outer + 1)[:outer] % 2
    column = np.repeat(np.arange(glass.num_edges), 2)
    inner = plane.face_of != outer
    checks = csc_array(
        (np.ones(inner.sum(), np.uint8), (plane.face_of[inner], column[inner])),
        shape=(outer, glass.num_edges),
    )
    matching = Matching.from_check_matrix(
        checks, weights=np.abs(glass.couplings), merge_strategy="smallest-weight"
    )
    return float(matching.decode(odd.astype(np.uint8), return_weight=True)[1])


def _partition_functions(size: int) -> Iterator[Row]:
    fresh = partial(_glass, size)
    seconds, ours = _timed(lambda glass: log_partition(glass, threads=1), fresh=fresh)
    theirs, value = _timed(kac_ward_log_partition, fresh=fresh)
    same = abs(value - ours.value) <= 1e-8 * abs(ours.value)
    remark = "" if same else f"off by {abs(value - ours.value):.2g}"
    peer = "Kac–Ward by SciPy's sparse LU"
    yield Row("log Z, Gaussian glass, β = 1", f"{size}²", seconds, peer, theirs, same, remark)


def _batch(size: int, count: int = 512) -> Iterator[Row]:
    """Time one model of many on one graph, in a batch of ours and by itself for the peer."""
    glass = _glass(size)
    prepared = plan(glass)
    couplings = np.random.default_rng(1).standard_normal((count, glass.num_edges))
    couplings[-1] = glass.couplings
    seconds, ours = _timed(lambda: prepared.log_partition(couplings, threads=1))
    theirs, value = _timed(lambda: kac_ward_log_partition(glass))
    same = abs(value - ours[-1].value) <= 1e-8 * abs(value)
    task, peer = f"log Z of one of {count} glasses on one graph", "Kac–Ward by SciPy's sparse LU"
    yield Row(task, f"{size}²", seconds / count, peer, theirs, same)


def kac_ward_log_partition(model: IsingModel) -> float:
    """Return log Z by the determinant over directed edges, weighted by half the turning angle.

    >>> round(kac_ward_log_partition(spin_glass(2, np.random.default_rng(0))), 6)
    2.986111
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    assert model.positions is not None, "lattices have coordinates"
    ends = np.concatenate([model.edges, model.edges[:, ::-1]])
    where = model.positions[ends[:, 1]] - model.positions[ends[:, 0]]
    angle = np.arctan2(where[:, 1], where[:, 0])
    count, half = len(ends), model.num_edges
    order = np.argsort(ends[:, 0], kind="stable")
    starts = np.searchsorted(ends[order, 0], np.arange(model.num_spins + 1))
    after = np.diff(starts)[ends[:, 1]]
    rows = np.repeat(np.arange(count), after)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(after) - after, after)
    columns = order[starts[ends[rows, 1]] + offset]
    keep = columns != (rows + half) % count  # no turning back
    rows, columns = rows[keep], columns[keep]
    turn = np.mod(angle[columns] - angle[rows] + np.pi, 2 * np.pi) - np.pi
    weight = np.tanh(np.tile(model.couplings, 2))[rows] * np.exp(0.5j * turn)
    matrix = csc_array((weight, (rows, columns)), shape=(count, count))
    identity = csc_array((np.ones(count), (np.arange(count), np.arange(count))))
    factor = splu((identity - matrix).tocsc())
    log_det = float(np.log(np.abs(factor.U.diagonal())).sum())
    pairs = float(np.logaddexp(model.couplings, -model.couplings).sum() - half * np.log(2))
    return model.num_spins * float(np.log(2)) + pairs + 0.5 * log_det


def _planarity(size: int) -> Iterator[Row]:
    lattice = random_triangulation(size, np.random.default_rng(size))
    name = np.random.default_rng(1).permutation(size).astype(np.int32)
    edges = np.ascontiguousarray(name[lattice.edges])
    seconds, ours = _timed(lambda: embed_planar(size, edges))
    task, label = "planar embedding, triangulation", f"{size:,}"
    graph = nx.Graph(edges.tolist())
    theirs, answer = _timed(lambda: nx.check_planarity(graph)[0])
    yield Row(task, label, seconds, "NetworkX", theirs, bool(answer) == ours[0])
    if not _is_installed("planarity"):
        return
    import planarity

    pairs = edges.tolist()
    theirs, answer = _timed(lambda: planarity.is_planar(pairs))
    yield Row(task, label, seconds, "planarity (test alone)", theirs, bool(answer) == ours[0])


def _side_chains(residues: int) -> Iterator[Row]:
    if not _is_installed("pytoulbar2"):
        return
    model = side_chain_model(residues, np.random.default_rng(residues))
    seconds, ours = _timed(lambda: branch_and_cut(model), repeats=1)
    task, label = "MAP, side-chain-like field", f"{residues} residues"
    import pytoulbar2

    rival = pytoulbar2.CFN(1e6, resolution=6)
    for variable, count in enumerate(model.cardinalities.tolist()):
        rival.AddVariable(f"x{variable}", range(count))
    for factor in range(model.num_factors):
        scope = [f"x{variable}" for variable in model.scope(factor).tolist()]
        rival.AddFunction(scope, (-model.log_table(factor)).ravel().tolist())
    theirs, solved = _timed(lambda: rival.Solve(timeLimit=int(PATIENCE)), repeats=1)
    same = None if solved is None else abs(solved[1] - ours.energy) <= 1e-3
    yield Row(task, label, seconds, "toulbar2", theirs, same, "" if same else "no answer in time")
