"""The help of the ``planaris`` command, and its version."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class _WithoutTypes:
    """A command whose help has nothing after a flag; typer would print its type there."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, those that are flags without a type."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class Command(_WithoutTypes, TyperCommand):
    """A command whose help names the methods that there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the names of methods filled in."""
        from planaris.cli.options import fill_help

        for option in self.params:
            if getattr(option, "help", None):
                option.help = fill_help(ctx.info_name, option.help)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


class Group(_WithoutTypes, TyperGroup):
    """The command ``planaris`` itself."""


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"planaris {version('planaris')}\n")
        raise typer.Exit


def options_of_group(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Exact and certified inference for Ising models and Markov random fields."""


def print_help(app: typer.Typer, name: str) -> None:
    """Print the help of a command; its options are not parsed, which would import pydantic."""
    group = get_command(app)
    command = group.commands[name]  # type: ignore[attr-defined]
    outer = group.context_class(group, info_name="planaris", **group.context_settings)
    context = command.context_class(command, info_name=name, parent=outer)
    sys.stdout.write(command.get_help(context) + "\n")  # rich prints it and returns nothing
