"""``planaris play``: a local page to look at models."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def play(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Open a page to play with models: change them, and see exact answers at once.

    The page is served to this machine only, under an address with a random token. Ctrl-C ends
    it.
    """
    from planaris.play import PlayServer

    with PlayServer(port) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stderr.write("planaris: open this address; Ctrl-C ends\n")
        if not no_browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
