"""The ``planaris`` command; it imports when it runs, so that Ctrl-C works from the start."""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn

from planaris.errors import PlanarisError

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
    from planaris.cli.app import COMMANDS, make_app, print_help

    if len(words) == 2 and words[0] in COMMANDS and words[1] in ("-h", "--help"):
        print_help(words[0])
        return
    warnings.formatwarning = lambda message, *_, **__: f"planaris: {message}\n"
    # joblib replaces workers whose memory has grown; their trials are not lost.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
    named = words[:1] if words and words[0] in COMMANDS else COMMANDS
    make_app(named)(prog_name="planaris")


def _stop_interrupted() -> NoReturn:
    sys.stderr.write("planaris: interrupted\n")
    sys.exit(INTERRUPTED)
