"""Proofs of bounds on log Z as plain arrays; see :mod:`planaris.result.proofs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planaris.result.proof import Proof
from planaris.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Proof):
    """log Z <= Σ weights[k] log Z(piece k), when the weighted pieces add up to the model.

    Attributes
    ----------
    weights : float array
        Non-negative, adding up to 1.
    piece_offsets, edges, couplings : array
        Edges in each piece, and their couplings there. Here every spin counts as having an edge
        to the bias spin, whether it has a field or not.
    """

    KIND: ClassVar[str] = "decomposition"
    weights: Array
    piece_offsets: Array
    edges: Array
    couplings: Array


@dataclass(frozen=True, eq=False, repr=False)
class MeanField(Proof):
    """log Z >= mean log weight + entropy of a distribution q of independent clusters.

    q keeps the couplings of some edges of the model and has fields of its own; its clusters are
    what these edges connect.

    Attributes
    ----------
    edges : int array
        The edges of the model that q keeps.
    fields : float array
        One per spin.
    """

    KIND: ClassVar[str] = "mean-field"
    edges: Array
    fields: Array


@dataclass(frozen=True, eq=False, repr=False)
class HeavyState(Proof):
    """log Z >= the log weight of one state, plus log 2 for each component without fields."""

    KIND: ClassVar[str] = "state"
    spins: Array


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Proof):
    """Proofs of both ends of an interval; None where an end has none."""

    KIND: ClassVar[str] = "bounds"
    lower: Proof | None
    upper: Proof | None


@dataclass(frozen=True, eq=False, repr=False)
class CutSum(Proof):
    """How to add up log Z on a surface at any temperature: over cuts, relative to a state.

    Attributes
    ----------
    walk, offsets : int array
        Walks round the faces, as in :class:`planaris.result.TJoinProof`.
    spins : int array
        The state, -1 or +1 for every spin: cuts are counted by what they cost relative to it.
    order, start, stop, parent : int array
        Nested sets of faces: set k holds ``order[start[k]:stop[k]]`` and lies in set
        ``parent[k] < k``, or in none (-1). Edges inside a set are eliminated before the one
        unsatisfied edge that leaves it. None on surfaces other than the plane.
    values : float array
        Of every set, by which the rows of the matrix are scaled.
    """

    KIND: ClassVar[str] = "cut-sum"
    walk: Array
    offsets: Array
    spins: Array
    order: Array
    start: Array
    stop: Array
    parent: Array
    values: Array


@dataclass(frozen=True, eq=False, repr=False)
class Contraction(Proof):
    """How to contract an Ising grid as a tensor network, and to bound by how much log Z is off.

    Rows are applied to a matrix product state and cut back. Vectors of the state are enclosed by
    boxes, from words of the letters next to them (docs/theory/tensor-network.md). All of this is
    done anew by the check: other numbers here give other intervals, which hold too.

    Attributes
    ----------
    columns : int
        Columns of the model; spin v is in row v // columns. Rows are along the shorter side.
    bonds : int array
        Dimensions that the bonds are cut to, (columns + 1) for every row but the last.
    words, word_offsets : int array
        Lengths of words, the leaves of a binary tree in preorder; one tree per row, side (vectors
        from the left, from the right, of the new state from the right) and position 1 to columns.
    hulls, hull_offsets : int array
        Of every tree, how many boxes are joined to one hull, one hull after the other.
    refined, refined_offsets : int array
        Lengths of words of trees that take the place of the first, but for its hulls; or none.
    other_way : int
        1 if rows are along the longer side instead; of a square, if columns are taken for rows.
    """

    KIND: ClassVar[str] = "contraction"
    columns: int
    bonds: Array
    words: Array
    word_offsets: Array
    hulls: Array
    hull_offsets: Array
    refined: Array
    refined_offsets: Array
    other_way: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryStates(Proof):
    """Contractions of an Ising grid from its first row and from its last.

    A state from above a row and one from below the next row enclose both: with the weights of these
    rows they give the probabilities of their spins and edges. ``above`` and ``below`` are
    :class:`Contraction`; rows of the latter come in the opposite order.
    """

    KIND: ClassVar[str] = "boundary-states"
    above: Proof | None
    below: Proof | None


@dataclass(frozen=True, eq=False, repr=False)
class MarginalWindows(Proof):
    """Ends of marginals of a model without frustration, from windows between held spins.

    With ``signs`` that make all couplings positive, means of rising functions grow with every spin
    that is held up. So that of a function with values in [0, 1] is at most g, its mean in a window
    with all spins around it held up. Some of these, the walls, may be held down instead: then it is
    at most g + (1 - g) c, with c the sum of their probabilities to be up. Lower ends likewise, all
    spins turned over. Ends of walls are those of windows that come before.

    Attributes
    ----------
    signs : int array
        -1 or +1 for every spin; products with the signs of both ends leave no negative coupling.
    sides : int array
        Of every window: +1 if it gives upper ends, -1 if it gives lower ends.
    spin_offsets, spins : int array
        The spins of every window, in the order in which they are summed over.
    wall_offsets, walls : int array
        The walls around every window.
    """

    KIND: ClassVar[str] = "marginal-windows"
    signs: Array
    sides: Array
    spin_offsets: Array
    spins: Array
    wall_offsets: Array
    walls: Array


@dataclass(frozen=True, eq=False, repr=False)
class HeldSpin(Proof):
    """A proof about the model with one spin clamped to +1, which has half of the weight.

    The model has no fields; the other spins keep their order.
    """

    KIND: ClassVar[str] = "held-spin"
    spin: int
    proof: Proof | None


@dataclass(frozen=True, eq=False, repr=False)
class LowestEnergy(Proof):
    """log Z <= n log 2 - the least energy; ``proof`` bounds that from below."""

    KIND: ClassVar[str] = "lowest-energy"
    proof: Proof | None


@dataclass(frozen=True, eq=False, repr=False)
class GaussianEntropyBound(Proof):
    """log Z <= θ·z + H(z) at the best moments z, H the entropy of a Gaussian with these moments.

    Moments are ``E s`` of the spins, then ``E s s`` of the pairs. H is concave, so it lies below
    its tangent anywhere; multipliers of inequalities that all moments satisfy bound the tangent.

    Attributes
    ----------
    pairs : int array
        Pairs of spins, those of the model first; all of them here.
    point : float array
        The moments at which the tangent is taken.
    local : float array
        For every pair four multipliers of ``4 P(s_u, s_v) >= 0``: for ++, +-, -+ and --.
    offsets, edges, odd, multipliers : array
        Even sets of pairs, of which an odd number F is marked, and multipliers of
        ``Σ_{C-F} E s s - Σ_F E s s <= |C| - 2``.
    """

    KIND: ClassVar[str] = "gaussian-entropy"
    pairs: Array
    point: Array
    local: Array
    offsets: Array
    edges: Array
    odd: Array
    multipliers: Array


@dataclass(frozen=True, eq=False, repr=False)
class TreeEntropyBound(GaussianEntropyBound):
    """log Z <= θ·μ + Σ H_v - Σ ρ_e I_e at the best moments μ: the mean entropy of trees.

    Attributes
    ----------
    tree_weights, tree_offsets, tree_edges : array
        ρ_e is the weight of the forests that hold pair e; without weights, the probability of
        e in a spanning forest drawn at random, all alike.
    """

    KIND: ClassVar[str] = "tree-entropy"
    tree_weights: Array
    tree_offsets: Array
    tree_edges: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelTrees(Proof):
    """log Z <= Σ weights[k] log Z(forest k) of a pairwise Markov random field.

    Messages u move energy from edges to variables. With ρ_e the weight of the forests that hold
    e, forest k has the tables θ_e / ρ_e on its edges, and θ_v + Σ_e ρ_e u_{e,v} - Σ_{e in k}
    u_{e,v} on the variables: the model, on average.

    Attributes
    ----------
    weights : float array
        Non-negative, adding up to 1.
    edges : int array
        Pairs of variables u < v that have a table, shape (edges, 2).
    tree_offsets, tree_edges : int array
        The edges of each forest.
    messages : float array
        For each edge, to its first and to its second variable, one number per label.
    """

    KIND: ClassVar[str] = "label-trees"
    weights: Array
    edges: Array
    tree_offsets: Array
    tree_edges: Array
    messages: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelTreesOverCycles(Proof):
    """log Z <= log Z(tilted) - Σ multipliers (1 - |F|), the tilted model bounded by trees.

    A row is a sum over items, ``Σ ±[[x_u in A] != [x_v in B]] >= 1 - |F|`` with minus signs for
    the items in F. Where |F| is odd and every set is met an even number of times, all states
    satisfy it. The tilted model has the row, times its multiplier, in its tables.

    Attributes
    ----------
    trees : LabelTrees
        Forests and messages that bound log Z of the tilted model.
    row_offsets, row_edges, odd : int array
        Items of every row, their edges (of ``trees``), and whether they are in F.
    set_offsets, sets : int array
        For every item the labels in A, then those in B.
    multipliers : float array
        Non-negative, one per row.
    """

    KIND: ClassVar[str] = "label-trees-cycles"
    trees: Proof | None
    row_offsets: Array
    row_edges: Array
    odd: Array
    set_offsets: Array
    sets: Array
    multipliers: Array


@dataclass(frozen=True, eq=False, repr=False)
class LabelField(Proof):
    """log Z >= mean log weight + entropy of independent labels.

    Attributes
    ----------
    probabilities : float array
        Of the labels of every variable, one variable behind the other.
    """

    KIND: ClassVar[str] = "label-field"
    probabilities: Array


@dataclass(frozen=True, eq=False, repr=False)
class CutsetSum(Proof):
    """log Z >= log of the weights of all states that agree with one of some assignments.

    Attributes
    ----------
    variables : int array
        The variables that are assigned.
    labels : int array
        Their labels, one row per assignment, all different.
    """

    KIND: ClassVar[str] = "cutset-sum"
    variables: Array
    labels: Array


@dataclass(frozen=True, eq=False, repr=False)
class MiniBuckets(Proof):
    """log Z <= what elimination gives if tables of a variable that goes are summed in groups.

    Hölder's inequality: Σ_x Π f_j <= Π (Σ_x f_j^g)^(1/g) for g groups. Before that the groups
    are shifted to equal sums (of their g-th powers) over what not all of them depend on.

    Attributes
    ----------
    order : int array
        Variables, in the order in which they go.
    group_offsets, groups : int array
        For each variable in that order, the group of each table at it: first factors in the
        order of the model, then tables in the order in which they arose.
    """

    KIND: ClassVar[str] = "mini-buckets"
    order: Array
    group_offsets: Array
    groups: Array


@dataclass(frozen=True, eq=False, repr=False)
class HolderPieces(Proof):
    """log Z <= the power sums of pieces that share spins, which add up to the model (Hölder).

    Attributes
    ----------
    spin_offsets, spins : int array
        Spins of every piece, in the order in which they are eliminated. One order of all spins
        agrees with that of every piece, or shared spins of a piece have all the same weight in it.
    fields, weights : float array
        Of each of these. The fields of a spin add up to that of the model, its weights to one.
    edge_offsets, edges, couplings : array
        Edges of every piece, and their couplings there, which add up to those of the model.
    """

    KIND: ClassVar[str] = "holder-pieces"
    spin_offsets: Array
    spins: Array
    fields: Array
    weights: Array
    edge_offsets: Array
    edges: Array
    couplings: Array


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalPieces(Proof):
    """log Z >= mean log weight + entropy, spins of one piece being free given the shared ones.

    Attributes
    ----------
    pieces : HolderPieces
        The pieces, with the share of the entropy of shared spins in each as ``weights``. Their
        orders need not agree.
    context : int array
        For every spin of the model, a shared spin that its probability depends on, or -1.
    up : float array
        Two per spin of the model: the probability of +1 where the context is -1, and where it is
        +1. Read for shared spins only.
    """

    KIND: ClassVar[str] = "conditional-pieces"
    pieces: Proof | None
    context: Array
    up: Array


@dataclass(frozen=True, eq=False, repr=False)
class SplitEdges(Proof):
    """A proof about a model with new spins in the middle of some edges, which has the same log Z.

    exp(J s s') is proportional to the sum over a spin t of exp(t (a s + b s')) where
    tanh a tanh b = tanh J. Edges are split one after the other, and those that come of it may be
    split again.

    Attributes
    ----------
    edges : int array
        The edge of each split. It keeps its number and its first end and gets the new spin as the
        other; an edge between its second end and the new spin comes last.
    first, second : float array
        Couplings a of the first end and b of the second.
    proof : HolderPieces or ConditionalPieces
        About the model after all splits.
    """

    KIND: ClassVar[str] = "split-edges"
    edges: Array
    first: Array
    second: Array
    proof: Proof | None
