"""Bounds on log Z and marginals with labels over projected cycles (SJ07's next step)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import numpy as np

from planaris import treewidth
from planaris.experiments.figure import Figure, Params, Record, Result, Settings
from planaris.experiments.summaries import PALETTE, means
from planaris.generate import side_chain_model
from planaris.models import MarkovRandomField
from planaris.relax import entropy_bound
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_axes

SIDE, LABELS = 6, 4
STRENGTHS = (1.0, 2.0, 3.0, 4.0)
RESIDUES = 12
ROOM_FOR_TRUTH = 2**30
"""Bytes of the elimination that gives the truth; side chains that need more are drawn again."""

KINDS = {"grid": f"{SIDE}×{SIDE} grids of {LABELS} labels", "side-chain": "side chains"}
WAYS: dict[str, dict[str, Any]] = {
    "LOCAL": {"polytope": "local"},
    "single projection": {"projection": "single"},
    "k projection": {"projection": "k"},
    "full projection": {"projection": "full"},
}
MAX_ROUNDS = 6
"""Rounds of cuts: the bound holds after any of them, and later rounds change it little."""

NOTE = (
    f"At most {MAX_ROUNDS} rounds of cuts; every bound holds at any stop and is proved by trees, "
    "messages and multipliers."
)

ROOM = 1e-3
"""What a bound may be larger than that of a larger polytope: their programs end at a tolerance."""


def trials(settings: Settings) -> list[Params]:
    """Return grids at several coupling strengths, and generated side chains."""
    grids, chains = (1, 2) if settings.quick else (10, 10)
    return [
        *(
            {"kind": "grid", "strength": strength, "seed": seed}
            for strength in STRENGTHS
            for seed in range(grids)
        ),
        *({"kind": "side-chain", "strength": 0.0, "seed": seed} for seed in range(chains)),
    ]


def make_model(kind: str, strength: float, seed: int) -> MarkovRandomField:
    """Return a grid with log potentials U[-α, α] of pairs, or side chains of small width."""
    rng = np.random.default_rng([seed, round(1000 * strength), list(KINDS).index(kind)])
    if kind == "side-chain":
        model = side_chain_model(RESIDUES, rng)
        while treewidth.plan_elimination(model).bytes > ROOM_FOR_TRUTH:
            model = side_chain_model(RESIDUES, rng)
        return model
    spins = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right = np.column_stack([spins[:, :-1].ravel(), spins[:, 1:].ravel()])
    down = np.column_stack([spins[:-1].ravel(), spins[1:].ravel()])
    factors: list[Any] = [((v,), rng.uniform(-0.5, 0.5, LABELS)) for v in range(SIDE * SIDE)]
    factors += [
        (tuple(pair), rng.uniform(-strength, strength, (LABELS, LABELS)))
        for pair in np.concatenate([right, down]).tolist()
    ]
    return MarkovRandomField([LABELS] * SIDE * SIDE, factors, log=True)


def run(params: Params) -> Record:
    """Bound one model over every polytope, beside the exact answer by elimination."""
    model = make_model(params["kind"], params["strength"], params["seed"])
    truth = treewidth.marginals(model)
    record: Record = {"log_partition": truth.log_z, "seconds": {}}
    for name, options in WAYS.items():
        started = process_time()
        found = entropy_bound(model, rho="optimal", max_rounds=MAX_ROUNDS, threads=1, **options)
        record["seconds"][name] = process_time() - started
        assert found.pseudomarginals is not None, "entropy bounds have them"
        errors = [
            np.abs(np.asarray(mu) - np.asarray(right)).mean()
            for mu, right in zip(found.pseudomarginals.nodes, truth.nodes, strict=True)
        ]
        record[name] = {
            "gap": (found.upper - truth.log_z) / model.num_variables,
            "holds": bool(found.lower <= truth.log_z + 1e-9 and found.upper >= truth.log_z - 1e-9),
            "error": float(np.mean(errors)),
            "rounds": found.rounds,
        }
    return record


def plot(results: Sequence[Result]) -> Panels:
    """Draw gaps and errors of grids by strength; side chains are in the table."""
    grids = [result for result in results if result.params["kind"] == "grid"]
    pictures = []
    for kind, title in (("gap", "(bound − log Z) / n"), ("error", "mean error of P(x = label)")):
        if not grids:
            continue
        figure, axes = new_axes(size=3.6)
        for colour, name in zip(PALETTE, WAYS, strict=False):
            axes.errorbar(
                *means(grids, "strength", _value(name, kind)),
                capsize=2,
                marker="o",
                ms=3,
                color=colour,
                label=name,
            )
        axes.set(title=title, xlabel="strength α")
        axes.legend(fontsize="small")
        caption = f"{KINDS['grid']}: {title}, means and standard errors."
        pictures.append(Picture(caption, figure))
    return Panels(
        pictures=pictures,
        tables=[_table(results)],
        verdicts=_verdicts(results),
        notes=[
            "Log potentials of pairs are U[−α, α], of variables U[−½, ½]. Trees are optimised.",
            NOTE,
        ],
    )


def _value(name: str, kind: str) -> Callable[[Record], float]:
    return lambda record: float(record[name][kind])


def _table(results: Sequence[Result]) -> Table:
    rows = []
    for kind, label in KINDS.items():
        chosen = [result for result in results if result.params["kind"] == kind]
        for name in WAYS:
            gaps = means(chosen, "strength", _value(name, "gap"))
            errors = means(chosen, "strength", _value(name, "error"))
            seconds = means(chosen, "strength", _seconds(name))
            rows += [
                [label, strength or None, name, gap, error, time]
                for strength, gap, error, time in zip(
                    gaps[0], gaps[1], errors[1], seconds[1], strict=True
                )
            ]
    header = ("models", "α", "polytope", "gap", "error", "processor seconds")
    return Table("Means by polytope", header, rows)


def _seconds(name: str) -> Callable[[Record], float]:
    return lambda record: float(record["seconds"][name])


def _verdicts(results: Sequence[Result]) -> list[Verdict]:
    held = [result.record[name]["holds"] for result in results for name in WAYS]
    names = list(WAYS)
    tighter = [
        all(
            result.record[after]["gap"] <= result.record[before]["gap"] + ROOM
            for before, after in (("LOCAL", names[1]), (names[1], names[2]), (names[2], names[3]))
        )
        for result in results
    ]
    better = [
        result.record["full projection"]["error"] < result.record["LOCAL"]["error"]
        for result in results
    ]
    shares = [
        1 - result.record["full projection"]["gap"] / max(result.record["LOCAL"]["gap"], 1e-12)
        for result in results
    ]
    return [
        Verdict(
            "Every interval contains log Z.",
            f"{sum(held)} of {len(held)} do.",
            all(held),
            "log Z by elimination lies in every interval",
        ),
        Verdict(
            "More projections give tighter bounds (left open by the paper for log Z).",
            f"In {sum(tighter)} of {len(tighter)} models; the full projection takes a median of "
            f"{np.median(shares):.0%} of LOCAL's gap away.",
            all(tighter),
            "in every model each projection's gap is no larger than that of the one before it, "
            f"up to {ROOM:g} per variable",
        ),
        Verdict(
            "Cycles of projections make marginals more accurate (left open by the paper).",
            f"The full projection's mean error is smaller than LOCAL's in {sum(better)} of "
            f"{len(better)} models.",
            bool(np.mean(better) > 0.9) if len(better) >= 5 else None,
            "the error is smaller in more than nine of ten models",
            "five models or more",
        ),
    ]


FIGURE = Figure(
    name="label-bounds",
    title="Bounds on log Z with labels",
    paper="Sontag and Jaakkola 2007, section 7 (next steps)",
    claim=(
        "The paper computes marginals of spins only and leaves models with labels to later work: "
        "entropies over the marginal polytope outer bounds that its projections give."
    ),
    version=1,
    trials=trials,
    run=run,
    plot=plot,
)
