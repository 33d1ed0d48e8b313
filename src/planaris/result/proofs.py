"""Proofs as plain arrays: what a solver hands to :mod:`planaris.verify`, and what files keep.

A proof knows nothing of the solver that found it. Edges are numbered as in the *bare* model of
the model asked for: its own edges, then one per nonzero field, to a bias spin behind the last
spin, in the order of the spins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planaris.result.proof import Proof
from planaris.result.sums import (
    BoundaryStates,
    Bounds,
    ConditionalPieces,
    Contraction,
    CutsetSum,
    CutSum,
    Decomposition,
    GaussianEntropyBound,
    HeavyState,
    HeldSpin,
    HolderPieces,
    LabelField,
    LabelTrees,
    LabelTreesOverCycles,
    LowestEnergy,
    MarginalWindows,
    MeanField,
    MiniBuckets,
    SplitEdges,
    TreeEntropyBound,
)
from planaris.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class TJoinProof(Proof):
    """No state leaves less ``|J|`` unsatisfied: closed walks and a packing of T-cuts.

    Attributes
    ----------
    walk, offsets : int array
        Closed walks that use each half-edge ``2 e`` (from the first end of e) and ``2 e + 1``
        once; walk k is ``walk[offsets[k]:offsets[k + 1]]``.
    free : int array
        Walks that no set of the packing may hold.
    order, start, stop, parent, digits, exponent
        The packing, see :class:`planaris.matching.tjoins.CutPacking`. Every state leaves at
        least its value unsatisfied.
    """

    KIND: ClassVar[str] = "t-join"
    walk: Array
    offsets: Array
    free: Array
    order: Array
    start: Array
    stop: Array
    parent: Array
    digits: Array
    exponent: int


@dataclass(frozen=True, eq=False, repr=False)
class Flow(Proof):
    """Numbers ``|flow_e| <= |J_e|``, one per edge of the model, that bound every energy.

    For every edge, ``|J| (1 - sign(J) s_u s_v) >= flow (s_u - sign(J) s_v)``; added up, this
    leaves a linear function of the spins, whose minimum is plain to see.
    """

    KIND: ClassVar[str] = "flow"
    flow: Array


@dataclass(frozen=True, eq=False, repr=False)
class CutTree(Proof):
    """Branch and cut: a tree of decisions on edges, with multipliers of cycles at its leaves.

    Every set of edges that meets each vertex an even number of times meets every cut evenly;
    so ``Σ_{C-F} x_e - Σ_F x_e >= 1 - |F|`` holds for the edges x that a state cuts, F odd.
    Non-negative multipliers of such rows bound the energies of a leaf by weak duality.

    Attributes
    ----------
    offsets, edges, odd : int array
        The rows: edges of the even sets, and whether each belongs to F.
    branch_edge, child : int array
        Of every node: the edge decided on (-1 at a leaf), and its children, shape (nodes, 2),
        in which that edge is not cut, and cut (-1 at a leaf). Node 0 is the root.
    row_offsets, rows, multipliers : array
        Of every node: the rows that bound it, with their multipliers (leaves only).
    """

    KIND: ClassVar[str] = "cut-tree"
    offsets: Array
    edges: Array
    odd: Array
    branch_edge: Array
    child: Array
    row_offsets: Array
    rows: Array
    multipliers: Array


@dataclass(frozen=True, eq=False, repr=False)
class SemidefiniteTree(Proof):
    """Branch and bound over pairs of spins, with semidefinite multipliers at the leaves.

    Spins with couplings are groups of one spin at the root. A decision joins two groups, equal
    or opposite; the energy of a part is then ``constant + <C, s s'>`` for signs s of its groups.
    If ``C - Diag u - Σ y T`` has no eigenvalue below -d, where ``<T, s s'> >= -r`` are odd clique
    inequalities and y >= 0, that is at least ``constant + Σ u - Σ r y - d`` times the groups.

    Attributes
    ----------
    pair, child : int array
        Of every node: the groups (i, j), i < j, that are joined (-1 at a leaf), and its children,
        in which they are equal, and opposite. Group j becomes part of i, groups above j move up.
        Node 0 is the root.
    diagonal_offsets, diagonal : array
        Of every node the numbers u (leaves only).
    triangle_offsets, triangles, signs, multipliers : array
        Of every node the cliques (leaves only), mostly triangles: an odd number k of groups with
        signs p of ``Σ_{a<b} p_a p_b s_a s_b >= -(k - 1) / 2``, and the multipliers y. Rows have
        as many columns as the largest clique; those of smaller ones end with group -1, sign 0.
    """

    KIND: ClassVar[str] = "semidefinite-tree"
    pair: Array
    child: Array
    diagonal_offsets: Array
    diagonal: Array
    triangle_offsets: Array
    triangles: Array
    signs: Array
    multipliers: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelTree(Proof):
    """Branch and bound over labels: a tree of excluded labels, with messages at its leaves.

    Attributes
    ----------
    edges : int array
        Pairs of variables that messages are passed along, shape (edges, 2).
    triplets : int array
        Triples of variables that were added, shape (triplets, 3).
    branch_variable, branch_label, child : int array
        Of every node: the variable decided on (-1 at a leaf), the label, and the children in
        which the variable has that label, and has not.
    message_offsets, messages : array
        Of every node the messages of its bound: for each edge, to its first and to its second
        variable; for each triplet (i, j, k), the tables to ij, ik and jk. None except at leaves.
    """

    KIND: ClassVar[str] = "label-tree"
    edges: Array
    triplets: Array
    branch_variable: Array
    branch_label: Array
    child: Array
    message_offsets: Array
    messages: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelSteps(Proof):
    """Branch and bound over labels with reductions: a tree with the steps taken at its nodes.

    A factor of three or more variables counts as one more variable over its allowed states.
    Every node goes on from what its parent left: labels dropped, variables eliminated.

    Attributes
    ----------
    step_offsets, steps : int array
        Of every node the steps, a number for their kind and its arguments: ``0 i a``, label a of
        variable i is impossible; ``1 i a b``, it is no better than label b whatever the others
        do; ``2 i``, the variable is eliminated, which has one label or two neighbours at most;
        ``3``, messages are passed; ``4 i a``, by these messages the label costs too much.
    number_offsets, numbers : array
        Of every node its messages, for every edge in the order of its variables: to its first
        and to its second variable, a number per label that is left.
    branch_variable, branch_label, child : int array
        Of every node: the variable decided on after the steps (-1 at a leaf), the label, and the
        children in which the variable has that label, and has not.
    """

    KIND: ClassVar[str] = "label-steps"
    ARRAYS: ClassVar[tuple[str, ...]] = (
        "step_offsets",
        "steps",
        "number_offsets",
        "numbers",
        "branch_variable",
        "branch_label",
        "child",
    )
    step_offsets: Array
    steps: Array
    number_offsets: Array
    numbers: Array
    branch_variable: Array
    branch_label: Array
    child: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelCycles(Proof):
    """Messages, and multipliers of cycles of projections of the labels.

    For sets A and B of labels, ``P([x_i in A] != [x_j in B])`` is a linear function of the
    tables of i, j and ij; Σ of these over the items of a row, less those that are marked, is at
    least 1 minus the number of marks, if that is odd and every (variable, set) is met evenly.

    Attributes
    ----------
    messages : LabelTree
        A single leaf.
    row_offsets, row_edges, odd : int array
        The items of every row: the edge, and whether it is marked.
    set_offsets, sets : int array
        Of every item the labels of A, then those of B.
    multipliers : float array
        One per row, non-negative.
    """

    KIND: ClassVar[str] = "label-cycles"
    messages: Proof | None
    row_offsets: Array
    row_edges: Array
    odd: Array
    set_offsets: Array
    sets: Array
    multipliers: Array


@dataclass(frozen=True, eq=False, repr=False)
class PartProof(Proof):
    """Proof of a lower bound on the energy of some of the edges of a model.

    Attributes
    ----------
    edges : numpy.ndarray
        Edges of the bare model.
    lower : float
        No state gives these edges less energy.
    proof : object or None
        What :mod:`planaris.verify` checks; None where the method leaves no proof. Then plain
        elimination has to do, if the part is narrow enough.
    """

    KIND: ClassVar[str] = "part"
    edges: Array
    lower: float
    proof: Proof | None


class PartProofs(list[PartProof], Proof):
    """No state has less energy than the parts together: proofs that cover every edge once."""


@dataclass(frozen=True, eq=False, repr=False)
class SplitProof(Proof):
    """No state has less energy than the pieces together, when their couplings add up to it.

    Attributes
    ----------
    piece_offsets, edges, couplings : array
        Edges of the bare model in each piece, and their couplings there.
    proofs : list
        Of every piece, a bound on its energies; None where the sizes of its couplings, or
        plain elimination, are enough.
    """

    KIND: ClassVar[str] = "split"
    piece_offsets: Array
    edges: Array
    couplings: Array
    proofs: Sequence[Proof | None]


@dataclass(frozen=True, eq=False, repr=False)
class AsIsing(Proof):
    """A proof about the Ising model that a Markov random field of two labels is."""

    KIND: ClassVar[str] = "as-ising"
    proof: Proof | None


@dataclass(frozen=True, eq=False, repr=False)
class NotPlanar(Proof):
    """Edges of the graph with the bias spin that form a subdivision of K5 or K3,3."""

    KIND: ClassVar[str] = "not-planar"
    edges: Array


@dataclass(frozen=True, eq=False, repr=False)
class Plane(Proof):
    """A plane rotation system of the graph with the bias spin: half-edges around every vertex."""

    KIND: ClassVar[str] = "plane"
    rotation: Array
    offsets: Array


PROOFS: dict[str, Any] = {
    kind.KIND: kind
    for kind in (
        TJoinProof,
        Flow,
        CutTree,
        SemidefiniteTree,
        LabelTree,
        LabelSteps,
        LabelCycles,
        PartProof,
        SplitProof,
        AsIsing,
        Decomposition,
        MeanField,
        HeavyState,
        CutSum,
        Contraction,
        BoundaryStates,
        MarginalWindows,
        HeldSpin,
        LowestEnergy,
        GaussianEntropyBound,
        TreeEntropyBound,
        LabelTrees,
        LabelTreesOverCycles,
        LabelField,
        CutsetSum,
        MiniBuckets,
        HolderPieces,
        ConditionalPieces,
        SplitEdges,
        Bounds,
        NotPlanar,
        Plane,
    )
}
"""Every kind of proof that files hold, by its name there."""
