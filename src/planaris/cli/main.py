"""The ``planaris`` command: one module per verb, imported when it is called.

Nothing is imported before it runs, so that Ctrl-C works from the start.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from planaris.errors import PlanarisError

if TYPE_CHECKING:
    import typer

COMMANDS = {
    "info": "inference.info:info",
    "map": "inference.map:map_state",
    "pr": "inference.pr:pr",
    "mar": "inference.mar:mar",
    "sample": "inference.sample:sample_states",
    "verify": "inference.verify:verify",
    "play": "play:play",
    "segment": "applications.segment:segment",
    "denoise": "applications.denoise:denoise",
    "decode": "applications.decode:decode",
    "fit-noise": "applications.fit_noise:fit_noise",
    "demo": "demo:demo",
    "reproduce": "reproduce:reproduce_figures",
    "bench": "bench:bench",
    "selftest": "selftest:selftest",
}
"""Where each command is, as module:function of ``planaris.cli.commands``."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def run() -> None:
    """Run the command line; errors are one line on stderr and exit code 1."""
    try:
        _call(sys.argv[1:])
    except PlanarisError as error:
        from planaris.cli.messages import for_command_line

        sys.exit(f"planaris: {for_command_line(error)}")
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


def _call(words: list[str]) -> None:
    if words == ["--version"]:  # no need for any command
        from importlib.metadata import version

        sys.stdout.write(f"planaris {version('planaris')}\n")
        return
    if len(words) == 2 and words[0] in COMMANDS and words[1] in ("-h", "--help"):
        from planaris.cli.help import print_help

        print_help(make_app(words[:1]), words[0])
        return
    warnings.formatwarning = lambda message, *_, **__: f"planaris: {message}\n"
    # joblib replaces workers whose memory has grown; their trials are not lost.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
    named = words[:1] if words and words[0] in COMMANDS else COMMANDS
    make_app(named)(prog_name="planaris")


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with these commands; each import costs the user time.

    Examples
    --------
    >>> [command.name for command in make_app(["pr"]).registered_commands]
    ['pr']
    """
    import typer

    from planaris.cli.help import Command, Group, options_of_group

    app = typer.Typer(
        cls=Group,
        help="Exact and certified inference for Ising models and Markov random fields.",
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="markdown",  # paragraphs are filled, not cut where the source is
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options_of_group)
    for name in names:
        module, function = COMMANDS[name].split(":")
        command = getattr(import_module(f"planaris.cli.commands.{module}"), function)
        app.command(name, cls=Command)(command)
    return app


def _stop_interrupted() -> NoReturn:
    sys.stderr.write("planaris: interrupted\n")
    sys.exit(INTERRUPTED)
