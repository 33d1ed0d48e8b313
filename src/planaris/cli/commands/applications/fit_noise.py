"""``planaris fit-noise``: probabilities of a detector error model from detection events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planaris.cli.options import Json, print_json
from planaris.cli.shot_files import Dem, ShotFormat, Shots, read_shots
from planaris.writing import open_whole


def fit_noise(
    model: Dem,
    shots: Shots,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the fitted detector error model."),
    ] = None,
    shot_format: ShotFormat = None,
    max_iterations: Annotated[
        int, typer.Option(min=1, help="Steps of the search for the largest likelihood.")
    ] = 100,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; default: all processors.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit the probabilities of a detector error model to shots, by exact maximum likelihood.

    The search starts from the probabilities of MODEL, whose decoding graph must be planar.
    """
    from rich.console import Console

    from planaris.interop.stim import fit, read_detector_error_model

    dem = read_detector_error_model(model)
    events = read_shots(shots, shot_format, dem.num_detectors)
    found = fit(dem, events, bit_packed=True, max_iterations=max_iterations, threads=threads)
    if out is not None:
        with open_whole(out) as file:
            file.write(f"{found.dem}\n".encode())
    if json:
        print_json(
            {
                "shots": len(events),
                "log_likelihood": found.log_likelihood,
                "iterations": found.num_iterations,
                "converged": found.converged,
                "mechanisms": [str(m) for m in found.model.mechanisms],
                "probabilities": found.probabilities,
                "standard_errors": found.standard_errors,
            }
        )
        return
    console = Console()

    def say(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True, markup=False)

    end = "" if found.converged else ", not converged"
    say(
        f"{len(found.probabilities)} probabilities from {len(events)} shots, log-likelihood "
        f"{found.log_likelihood:.3f} after {found.num_iterations} evaluations{end}"
    )
    rows = zip(found.model.mechanisms, found.probabilities, found.standard_errors, strict=True)
    for m, p, s in rows:
        targets = [f"D{d}" for d in m.detectors] + [f"L{o}" for o in m.observables]
        say(f"{p:12.6g} ± {s:<10.2g} {' '.join(targets)}")
    if out is not None:
        say(str(out))
