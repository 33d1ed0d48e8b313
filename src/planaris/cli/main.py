"""The ``planaris`` command: one sub-command per verb."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from planaris.cli.bench import bench
from planaris.cli.demo import demo
from planaris.cli.denoise import denoise
from planaris.cli.info import info
from planaris.cli.map import map_state
from planaris.cli.mar import mar
from planaris.cli.play import play
from planaris.cli.pr import pr
from planaris.cli.reproduce import reproduce_figures
from planaris.cli.sample import sample_states
from planaris.cli.segment import segment
from planaris.cli.selftest import selftest
from planaris.cli.verify import verify
from planaris.errors import PlanarisError

app = typer.Typer(
    help="Exact and certified inference for Ising models and Markov random fields.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"planaris {version('planaris')}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Exact and certified inference for Ising models and Markov random fields."""


app.command()(info)
app.command("map")(map_state)
app.command()(pr)
app.command()(mar)
app.command("sample")(sample_states)
app.command()(verify)
app.command()(denoise)
app.command()(selftest)
app.command()(demo)
app.command()(play)
app.command()(segment)
app.command("reproduce")(reproduce_figures)
app.command()(bench)

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def run() -> None:
    """Run the command line; errors are one line on stderr and exit code 1."""
    try:
        app()
    except PlanarisError as error:
        sys.exit(f"planaris: {error}")
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        sys.exit(f"planaris: {error.filename}: {error.strerror}" if known else f"planaris: {error}")
    except UnicodeDecodeError as error:
        sys.exit(f"planaris: {error}")
    except KeyboardInterrupt:
        _stop_interrupted()
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has seen it first, and said nothing
            _stop_interrupted()
        raise


def _stop_interrupted() -> NoReturn:
    sys.stderr.write("planaris: interrupted\n")
    sys.exit(INTERRUPTED)
