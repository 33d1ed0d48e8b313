"""Recovery of more than two labels from noisy nodes and edges (beyond GRSY15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from planaris.experiments.figure import Figure, Params, Record, Result, Settings
from planaris.experiments.summaries import PALETTE, means
from planaris.generate import square_lattice
from planaris.recover import LabelMAP, LabelMarginal, LabelTwoStep, observe_labels
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes

SIDE, LABELS, NODE_NOISE = 8, 3, 0.5
EDGE_NOISE = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
KINDS = {"difference": "edges show differences mod 3", "equal": "edges show equality"}
ESTIMATORS = ("two-step", "MAP", "marginals", "nodes alone")

NOTE = (
    "Labels are random; a wrong node or edge shows any other value alike. Two-step chooses the "
    "shift mod 3, or the names of the classes, by the nodes."
)


def trials(settings: Settings) -> list[Params]:
    """Return grids of both kinds at several edge noises."""
    return [
        {"kind": kind, "p": p, "q": NODE_NOISE, "seed": seed}
        for seed in range(2 if settings.quick else 50)
        for kind in KINDS
        for p in EDGE_NOISE
    ]


def run(params: Params) -> Record:
    """Recover random labels of one grid by every estimator."""
    kind, p, q = params["kind"], params["p"], params["q"]
    rng = np.random.default_rng([list(KINDS).index(kind), round(1e4 * p), params["seed"]])
    truth = rng.integers(0, LABELS, SIDE * SIDE)
    seen = observe_labels(square_lattice(SIDE), truth, LABELS, p, q, rng, kind=kind)
    found = {
        "two-step": LabelTwoStep().recover(seen),
        "MAP": LabelMAP(p, q).recover(seen),
        "marginals": LabelMarginal(p, q).recover(seen),
    }
    return {
        "error": {
            **{name: one.error(truth) for name, one in found.items()},
            "nodes alone": float((seen.nodes != truth).mean()),
        },
        "exact": {name: bool(one.exact) for name, one in found.items()},
        "seconds": {name: one.seconds for name, one in found.items()},
    }


def plot(results: Sequence[Result]) -> Panels:
    """Draw the errors of both kinds."""
    pictures, rows = [], []
    for kind, title in KINDS.items():
        chosen = [result for result in results if result.params["kind"] == kind]
        if not chosen:
            continue
        figure, axes = new_axes(size=3.6)
        for colour, name in zip(PALETTE, ESTIMATORS, strict=False):
            x, mean, error = means(chosen, "p", _error(name))
            axes.errorbar(x, mean, error, color=colour, marker="o", ms=3, capsize=2, label=name)
            rows += [[title, name, *row] for row in zip(x, mean, error, strict=True)]
        axes.set(title=title, xlabel="edge noise p", ylabel="share of wrong labels")
        axes.legend(fontsize="small")
        caption = f"{SIDE}×{SIDE} grids, {LABELS} labels, q = {NODE_NOISE}: mean, standard errors."
        pictures.append(Picture(f"{caption} {title.capitalize()}.", figure))
    header = ("observations", "estimator", "p", "error", "± s.e.")
    return Panels(
        pictures=pictures,
        tables=[Table("Share of wrong labels", header, rows)],
        verdicts=_verdicts(results),
        notes=[NOTE],
    )


def _error(name: str) -> Callable[[Record], float]:
    return lambda record: float(record["error"][name])


def _verdicts(results: Sequence[Result]) -> list[Verdict]:
    verdicts = []
    for kind, title in KINDS.items():
        chosen = [result for result in results if result.params["kind"] == kind]
        if not chosen:
            continue
        optimal, two, alone = (
            np.array(means(chosen, "p", _error(name))[1])
            for name in ("marginals", "two-step", "nodes alone")
        )
        enough = len(chosen) >= 20 * len(EDGE_NOISE)
        verdicts.append(
            Verdict(
                f"With three labels, {title}, two-step is close to optimal at low edge noise.",
                f"At p = {EDGE_NOISE[0]}: two-step {two[0]:.3f}, marginals {optimal[0]:.3f}, nodes "
                f"alone {alone[0]:.3f}; at p = {EDGE_NOISE[-1]}: {two[-1]:.3f}, {optimal[-1]:.3f}.",
                bool(two[0] - optimal[0] < 0.05) if enough else None,
                "its mean error at the least p is within .05 of that of marginals",
                "20 grids at every edge noise: the full run",
            )
        )
    proved = [all(result.record["exact"].values()) for result in results]
    verdicts.append(
        Verdict(
            "All three estimators are exact on these grids.",
            f"On {sum(proved)} of {len(proved)} grids.",
            all(proved),
            "every result is proved",
        )
    )
    return verdicts


FIGURE = Figure(
    name="label-recovery",
    title="Recovery of three labels from noisy nodes and edges",
    paper="Beyond Globerson, Roughgarden, Sontag and Yildirim 2015",
    claim=(
        "The paper has two labels. With more of them an edge shows the difference of its labels "
        "mod k, or whether they are equal, and a node its label, each with noise."
    ),
    version=1,
    trials=trials,
    run=run,
    plot=plot,
)
