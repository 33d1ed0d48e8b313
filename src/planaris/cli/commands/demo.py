"""``planaris demo``: real results with a picture, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path(
        "planaris-demo"
    ),
) -> None:
    """Solve spin glasses of up to a million spins, draw exact samples; a picture and a page."""
    from planaris.cli.demo_page import make_demo

    make_demo(out)
