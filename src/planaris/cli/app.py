"""The commands of ``planaris``: one module per verb, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

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


class _WithoutTypes:
    """A command whose help has nothing after a flag; typer would print its type there."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class _Command(_WithoutTypes, TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        from planaris.cli.options import fill_help

        for option in self.params:
            if getattr(option, "help", None):
                option.help = fill_help(ctx.info_name, option.help)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


class _Group(_WithoutTypes, TyperGroup):
    pass


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with these commands; each import costs the user time.

    Examples
    --------
    >>> [command.name for command in make_app(["pr"]).registered_commands]
    ['pr']
    """
    app = typer.Typer(
        cls=_Group,
        help="Exact and certified inference for Ising models and Markov random fields.",
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="markdown",  # paragraphs are filled, not cut where the source is
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name in names:
        module, function = COMMANDS[name].split(":")
        command = getattr(import_module(f"planaris.cli.commands.{module}"), function)
        app.command(name, cls=_Command)(command)
    return app


def print_help(name: str) -> None:
    """Print the help of a command; its options are not parsed, which would import pydantic."""
    group = get_command(make_app([name]))
    command = group.commands[name]  # type: ignore[attr-defined]
    outer = group.context_class(group, info_name="planaris", **group.context_settings)
    context = command.context_class(command, info_name=name, parent=outer)
    sys.stdout.write(command.get_help(context) + "\n")  # rich prints it and returns nothing


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"planaris {version('planaris')}\n")
        raise typer.Exit


def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Exact and certified inference for Ising models and Markov random fields."""
