"""``planaris verify``: check a saved result against its model, without the solvers."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from planaris.cli.options import EXIT_BOUNDED, Evidence, Format, Json, ModelFile, load, print_json
from planaris.errors import PlanarisError

ResultFile = Annotated[
    str, typer.Argument(metavar="RESULT", help="What --certificate or result.save() wrote.")
]


def verify(
    file: ModelFile,
    result: ResultFile,
    evidence: Evidence = None,
    format: Format = None,
    json: Json = False,
) -> None:
    """Check a saved result: its state, its energy, its bounds and their proofs.

    Exit code 0 when every claim is proved or recomputed, 3 when some claim came without a proof
    and is too large to recompute, 1 when a claim is false or the file is damaged.
    """
    from planaris.result import load_result
    from planaris.verify import check_result

    if file.lower().endswith(".json") and format is None:
        msg = f"the model comes first, then its result: planaris verify {result} {file}"
        raise PlanarisError(msg)
    model, _ = load(file, format, evidence)
    found = load_result(result)
    try:
        report = check_result(model, found)
    except PlanarisError as error:
        msg = f"{result} does not hold for {file}: {error}"
        raise type(error)(msg, **error.evidence) from error
    if json:
        findings = [vars(finding) for finding in report.findings]
        print_json({"proved": report.proved, "findings": findings})
    else:
        table = Table("claim", "status", "how", box=None)
        for finding in report.findings:
            table.add_row(finding.claim, finding.status, finding.detail)
        Console().print(table)
    if not report.proved:
        raise typer.Exit(EXIT_BOUNDED)
