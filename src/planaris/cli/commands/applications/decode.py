"""``planaris decode``: observables of a quantum code from detection events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planaris.cli.options import Json, print_json
from planaris.cli.shot_files import Dem, ShotFormat, Shots, read_shots, write_predictions
from planaris.errors import PlanarisError
from planaris.writing import open_whole


def decode(
    model: Dem,
    shots: Shots,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where predictions go; format by its name: 01, b8, …",
        ),
    ],
    ml: Annotated[
        bool, typer.Option("--ml", help="Most likely logical class, exact; default: matching.")
    ] = False,
    llr: Annotated[
        bool, typer.Option("--llr", help="Write log P(0) - log P(1) as text; implies --ml.")
    ] = False,
    drop: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="'smallest': leave out mechanisms of more than two detectors; for --ml also "
            "unlikely ones until the graph is planar.",
        ),
    ] = "never",
    shot_format: ShotFormat = None,
    out_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Format of FILE, if its name does not tell."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; default: all processors.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="A GPU for --ml: 'cuda'.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the logical observables of shots of a quantum code.

    Shots and predictions are in the file formats of stim. With `--llr` every line of FILE holds
    the log-likelihood ratios of one shot, exact to the digits printed.
    """
    if drop not in ("never", "smallest"):
        msg = f"`--drop` must be 'never' or 'smallest', got {drop!r}"
        raise PlanarisError(msg)
    from planaris.interop.stim import Decoder

    exact = ml or llr
    decoder = Decoder(
        model,
        method="ml" if exact else "matching",
        drop="smallest" if drop == "smallest" else "never",
        threads=threads,
        device=device,
    )
    events = read_shots(shots, shot_format, decoder.num_detectors)
    facts: dict[str, Any] = {
        "shots": len(events),
        "detectors": decoder.num_detectors,
        "observables": decoder.num_observables,
        "method": decoder.method,
    }
    if llr:
        ratios = decoder.llr(events, bit_packed=True)
        lines = (" ".join(f"{x:.15g}" for x in row) + "\n" for row in ratios.tolist())
        with open_whole(out) as file:
            file.write("".join(lines).encode())
        predictions = ratios < 0
    else:
        predictions = decoder.decode(events, bit_packed=True)
        write_predictions(out, out_format, predictions)
    facts["flipped"] = [float(x) for x in predictions.mean(0)] if len(events) else []
    if decoder.dropped is not None:
        facts["dropped"] = list(decoder.dropped.instructions)
        facts["dropped_bound"] = decoder.dropped.bound
    facts["written"] = str(out)
    _tell(facts, json)


def _tell(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
        return
    from rich.console import Console

    console = Console()
    shares = ", ".join(f"{x:.4g}" for x in facts["flipped"]) or "none"
    lines = [
        f"{facts['shots']} shots decoded ({facts['method']}); observables flipped: {shares}",
        str(facts["written"]),
    ]
    if facts.get("dropped"):
        lines.insert(
            1,
            f"{len(facts['dropped'])} mechanisms left out, of which one acts with probability "
            f"{facts['dropped_bound']:.3g} at most: {'; '.join(facts['dropped'][:5])}",
        )
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
