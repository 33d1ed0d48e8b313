"""Max-cut files of rudy, Gset and Biq Mac: ``n m``, then ``i j w`` counted from one.

The model's energy is minus the weight of the cut: J = -w / 2 and offset = Σw / 2.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.errors import MethodError
from planaris.io.files import Source, read_bytes, write_text
from planaris.io.rows import indices, read_header_and_table, refuse_loops
from planaris.models import IsingModel


def read_maxcut(source: Source) -> IsingModel:
    r"""Read a max-cut instance; ground states of the model are maximum cuts.

    ``model.log_weight(s)`` is the weight of the cut between spins -1 and +1, so
    ``-ground_state(model).energy`` is the maximum cut. Weights that are left out are one.

    Examples
    --------
    >>> import io
    >>> model = read_maxcut(io.StringIO("3 3\n1 2 1\n2 3 1\n1 3 -2\n"))
    >>> model.log_weight([[1, 1, 1], [1, -1, 1]]).tolist()
    [0.0, 2.0]
    """
    text = read_bytes(source)
    (n, _), table = read_header_and_table(
        source, text, "'n m', the numbers of vertices and edges", (2, 3)
    )
    pairs = indices(source, table, 1, n, "a vertex")
    refuse_loops(source, pairs, table.lines, "a diagonal belongs to a QUBO: format='bq'")
    pairs -= 1
    has_weights = table.values.shape[1] == 3
    weights = table.values[:, 2] if has_weights else np.ones(len(pairs))
    return maxcut_model(pairs, weights, n)


def maxcut_model(edges: np.ndarray, weights: np.ndarray, num_vertices: int) -> IsingModel:
    """Return the model whose energy is minus the cut weight."""
    offset = math.fsum(weights.tolist()) / 2 if np.all(np.isfinite(weights)) else 0.0
    return IsingModel(edges, -weights / 2, num_spins=num_vertices, offset=offset)


def write_maxcut(model: IsingModel, target: Source, *, keep_offset: bool = True) -> None:
    """Write a max-cut instance: w = -2 J.

    The file holds neither fields (turn them into a spin with
    :func:`planaris.models.fields2bias`) nor an offset: a model whose energy is not minus a cut
    weight is refused unless ``keep_offset`` is False.

    >>> write_maxcut(IsingModel([(0, 1)], [-1.5]), "-", keep_offset=False)
    2 1
    1 2 3
    """
    if model.has_fields:
        msg = "a max-cut file has no fields; write the first model of `fields2bias(model)`"
        raise MethodError(msg)
    if keep_offset and not _has_cut_offset(model):
        cut_offset = -math.fsum(model.couplings.tolist())
        msg = (
            f"a max-cut file keeps no offset: energies are minus a cut weight only with offset "
            f"{cut_offset}, got {model.offset}; "
            "planaris.io.write_maxcut(model, file, keep_offset=False) drops it: the ground states "
            "stay, energies shift"
        )
        raise MethodError(msg)
    lines = [f"{model.num_spins} {model.num_edges}"]
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        lines.append(f"{u + 1} {v + 1} {plain(0.0 - 2 * coupling)}")
    write_text(target, "\n".join(lines) + "\n")


def counts_cuts(model: IsingModel) -> bool:
    """Return True if the log weight of every state is the weight of a cut, as in these files.

    >>> counts_cuts(IsingModel([(0, 1)], [-0.5], offset=0.5)), counts_cuts(IsingModel([], []))
    (True, False)
    """
    return _has_cut_offset(model) and model.num_edges > 0 and not model.has_fields


def _has_cut_offset(model: IsingModel) -> bool:
    """Return True if the state of equal spins has energy zero, up to rounding of the couplings."""
    numbers = [*model.couplings.tolist(), model.offset]
    return abs(math.fsum(numbers)) <= 1e-12 * math.fsum(map(abs, numbers))


def plain(value: float) -> str:
    """Write a number so that it reads back the same; whole numbers without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
