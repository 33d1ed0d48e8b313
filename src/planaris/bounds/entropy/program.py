"""Upper bounds on log Z: concave entropies over outer bounds of the marginal polytope (SJ07)."""

from __future__ import annotations

import numpy as np

from planaris.bounds.entropy.appearance import Trees
from planaris.bounds.entropy.labelled import label_entropy_bound
from planaris.bounds.entropy.spin_program import EntropyProgram
from planaris.budget import Budget, TimeLimit
from planaris.errors import require_one_of
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition, mrf2ising
from planaris.result import LogPartition
from planaris.typing import FloatArray

POLYTOPES = ("local", "psd", "cycle", "marginal")
APPEARANCES = ("uniform", "weighted", "optimal")
FAMILIES = ("wheels", "psd")


def entropy_bound(
    model: IsingModel | MarkovRandomField,
    *,
    entropy: str = "trw",
    polytope: str = "cycle",
    projection: str = "k",
    families: tuple[str, ...] = (),
    cuts: str = "all",
    rho: FloatArray | Trees | str = "uniform",
    tolerance: float = 1e-4,
    max_rounds: int = 50,
    time_limit: TimeLimit = None,
    threads: int | None = None,
) -> LogPartition:
    """Bound log Z from above by an entropy bound over an outer bound of the marginal polytope.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any Ising model, or a pairwise Markov random field with any number of labels.
        ``"log-det"`` takes up to 60 spins, ``polytope="marginal"`` up to 14.
    entropy : {"trw", "log-det"}
        Tree-reweighted entropy, or that of a Gaussian (of labels: of the integers 0, 1, ...).
    polytope : {"local", "psd", "cycle", "marginal"}
        LOCAL, LOCAL with a positive semidefinite moment matrix, LOCAL with all cycle
        inequalities (SJ07 Algorithm 1), or the marginal polytope itself. With labels LOCAL, or
        LOCAL with the cycle inequalities of a projection.
    projection : {"single", "k", "full"}
        Which projections of labels to spins ``"cycle"`` takes (two labels need none): the
        likeliest label against the rest, each label against the rest, or all partitions.
    families : tuple of {"wheels", "psd"}
        More inequalities for ``polytope="cycle"`` of spins, added when no cycle is violated:
        bicycle odd wheels, and cuts from eigenvectors of the moment matrix (these take the
        moments of all pairs, so at most 60 spins).
    cuts : {"all", "shortest"}
        Cycles added per round: all that the search finds, or, as SJ07 did, the one of the
        shortest path of every spin.
    rho : numpy.ndarray, tuple, "uniform", "weighted" or "optimal"
        Edge appearance probabilities of the tree-reweighted entropy: those of a mixture of
        forests nearest to the given ones, those of forests ``(weights, [edges of each])``, of the
        uniform spanning tree, of trees that weigh as much as the sum of |J| of their edges
        (SJ07; of labels: of the spreads of their tables), or optimised over the spanning tree
        polytope. For spins, ``"optimal"`` leaves no certificate, nor does ``"uniform"`` with
        moments of all pairs.
    tolerance : float
        Largest duality gap of each program.
    max_rounds : int
        Most rounds of cycle cuts (and of improvements of ``rho``).
    time_limit : float, optional
        Seconds; the bound found by then is returned.
    threads : int, optional
        Threads for the separation.

    Returns
    -------
    LogPartition
        ``upper`` holds at any stop; ``lower`` is the log weight of the best state found.
        ``pseudomarginals`` are those of the optimum, ``trace`` has one line per round.

    Notes
    -----
    With labels the bound is the dual one. Every state satisfies every cycle inequality, so
    multipliers λ >= 0 of the rows give ``log Z(θ) <= log Z(θ + Σ λ row) - Σ λ side``, and trees
    bound the right side exactly.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bound = entropy_bound(triangle)
    >>> bool(2.797846 <= bound.upper < 3.0)
    True

    Three labels on a frustrated triangle: cycles of projections tighten the bound.

    >>> alike, apart = np.exp(2.0 * np.eye(3)), np.exp(-2.0 * np.eye(3))
    >>> model = MarkovRandomField([3] * 3, [((0, 1), alike), ((1, 2), alike), ((0, 2), apart)])
    >>> local, cycle = (entropy_bound(model, polytope=p).upper for p in ("local", "cycle"))
    >>> exact = float(np.log(3 * np.exp(2) + 12 * np.exp(2) + 6 + 6 * np.exp(-2)))
    >>> bool(exact < cycle < local - 0.05)
    True
    """
    _check_names(entropy, polytope, cuts, rho, families)
    budget = Budget.of(time_limit, threads=threads)
    if isinstance(model, MarkovRandomField):
        if model.is_ising:
            ising, inverse = mrf2ising(model)
            options = {"families": families, "cuts": cuts, "rho": rho, "tolerance": tolerance}
            found = entropy_bound(
                ising,
                entropy=entropy,
                polytope=polytope,
                max_rounds=max_rounds,
                time_limit=budget,
                **options,  # type: ignore[arg-type]
            )
            return lift_log_partition(found, inverse)
        return label_entropy_bound(
            model,
            entropy=entropy,
            polytope=polytope,
            projection=projection,
            rho=rho,
            tolerance=tolerance,
            max_rounds=max_rounds,
            budget=budget,
        )
    program = EntropyProgram(
        model, entropy, polytope, tolerance=tolerance, budget=budget, families=families
    )
    program.cuts = cuts
    program.choose_rho(rho)
    try:
        with np.errstate(all="ignore"):
            status = program.solve(max_rounds=max_rounds)
            if isinstance(rho, str) and rho == "optimal" and entropy == "trw":
                status = program.improve_rho(max_rounds=max_rounds)
    except (np.linalg.LinAlgError, FloatingPointError):
        status = "broken"  # numbers too large for Newton's steps; the bound so far holds
    return program.result(status)


def _check_names(
    entropy: str, polytope: str, cuts: str, rho: object, families: tuple[str, ...]
) -> None:
    for name, given, allowed in (
        ("entropy", entropy, ("trw", "log-det")),
        ("polytope", polytope, POLYTOPES),
        ("cuts", cuts, ("all", "shortest")),
        *([("rho", rho, APPEARANCES)] if isinstance(rho, str) else []),
        *(("families", family, FAMILIES) for family in families),
    ):
        require_one_of(name, given, allowed)
