"""Checks of the lemmas behind the upper bound on the error of recovery, and of its constant."""

from __future__ import annotations

from collections.abc import Sequence

from planaris.experiments.figure import Result
from planaris.experiments.summaries import PALETTE
from planaris.recover.guarantees.error_bounds import UPPER_VALID
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes


def draw_constant(results: list[Result]) -> Panels:
    """Tabulate the sum over polygons that gives the constant."""
    rows = [
        [result.params["p"], result.record["lower"], result.record["upper"]] for result in results
    ]
    within = [row[2] for row in rows if row[0] <= UPPER_VALID]
    beyond = [row[0] for row in rows if row[1] > 8]
    figure, axes = new_axes(size=3.6)
    for column, label, colour in ((1, "polygons listed", 0), (2, "all polygons", 1)):
        axes.plot(
            [row[0] for row in rows],
            [row[column] for row in rows],
            marker="o",
            ms=3,
            color=PALETTE[colour],
            label=label,
        )
    axes.axhline(8.0, color="#7a8793", lw=0.8, ls="--", label="8")
    axes.set(title="constant c of c p² N", xlabel="edge noise p", ylabel="sum over polygons / p²")
    axes.legend(fontsize="small")
    return Panels(
        pictures=[Picture("The constant of the upper bound, summed over polygons.", figure)],
        tables=[Table("Constant c of c p² N", ("p", "polygons listed", "all polygons"), rows)],
        verdicts=[
            Verdict(
                "The constant of the upper bound is 8 for p ≤ 0.017.",
                f"The sum over self-avoiding polygons is at most {max(within):.2f} there"
                + (f", and above 8 at p = {min(beyond):g}." if beyond else "."),
                max(within) <= 8,
                "the sum, its tail bounded by published counts, is at most 8 at every p tried up "
                "to 0.017",
            )
        ]
        if within
        else [],
    )


def lemma_verdict(results: Sequence[Result]) -> Verdict:
    """Return whether the lemmas hold on all regions of wrong labels."""
    lemmas = [result.record["lemma"] for result in results if "lemma" in result.record]
    regions = sum(lemma["regions"] for lemma in lemmas)
    broken = [
        lemma
        for lemma in lemmas
        if not (lemma["flipping"] and lemma["filled_bad"] and lemma["filled_small"])
    ]
    return Verdict(
        "Wrong regions have a bad boundary, and so do the filled-in ones (Lemmas 5.3, 5.4, 5.6).",
        f"{regions} regions of {len(lemmas)} grids; {len(broken)} grids have one that does not.",
        not broken if regions else None,
        "at least half of the boundary of every maximal wrong region, and of what fills it in, is "
        "bad, and no filled-in set is larger than the square of its boundary",
        "grids with wrong labels",
    )
