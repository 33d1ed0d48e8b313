"""``planaris sample``: exact samples."""

from __future__ import annotations

from typing import Annotated

import typer

from planaris.cli.options import (
    Evidence,
    Format,
    Genus,
    Json,
    ModelFile,
    Out,
    Prove,
    find_surface,
    load,
    method_option,
    names_of,
    print_json,
)


def sample_states(
    file: ModelFile,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of samples.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Seed; default: fresh randomness.")] = None,
    evidence: Evidence = None,
    method: Annotated[str, method_option("sample")] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Give up after this time; default: never."),
    ] = None,
    genus: Genus = None,
    prove: Prove = False,
    format: Format = None,
    json: Json = False,
    out: Out = "-",
) -> None:
    """Draw exact samples; one per line, a label per variable (spins as -1 and +1).

    Those of --method tensor-network are exact with --prove only.
    """
    from planaris.infer import sample
    from planaris.io.files import write_text

    model, inverse = load(file, format, evidence)
    surface = find_surface(model, genus)
    states = sample(
        model, count, seed, method, embedding=surface, time_limit=time_limit, prove=prove
    )
    if inverse is not None:
        states = inverse.lift_states(states)
    if json:
        names = names_of(model, inverse)
        print_json({"task": "SAMPLE", **names, "seed": seed, "states": states}, out)
        return
    write_text(out, "".join(" ".join(map(str, row)) + "\n" for row in states.tolist()))
