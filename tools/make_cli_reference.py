"""Write docs/cli.md from the commands themselves: `make cli-reference`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from planaris.cli.main import make_app
from planaris.cli.options import fill_help

NAMES = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
PAGE = Path(__file__).parents[1] / "docs" / "cli.md"

HEAD = """# Command line

<!-- Made by `make cli-reference` from the help texts in src/planaris/cli. -->

`planaris` reads models in the formats of [UAI](formats/uai.md), [max-cut](formats/maxcut.md),
[edge lists](formats/edge_list.md) and [QUBO](formats/qubo.md), plain or compressed; `-` is stdin.
Results go to stdout, what is proved about them to stderr. `planaris --version` says
which version this is; `planaris --install-completion` sets up completion for your shell.
`python -m planaris` is the same command.

| exit code | meaning |
| --- | --- |
| 0 | done; an answer is exact |
| 1 | refused, with one line on stderr |
| 2 | wrong usage |
| 3 | an answer that is an interval or an estimate, not exact |
| 130 | interrupted |
"""


def reference() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_commands(make_app(), "planaris")])


def _commands(group: typer.Typer, prefix: str) -> Iterator[str]:
    for command in group.registered_commands:
        function: Any = command.callback
        name = command.name or function.__name__.replace("_", "-")
        yield _command(f"{prefix} {name}", function, command.help or function.__doc__)
    for member in group.registered_groups:
        if member.typer_instance is not None:
            yield from _commands(member.typer_instance, f"{prefix} {member.name}")


def _command(name: str, function: Any, said: str) -> str:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    rows, arguments = [], []
    for parameter in parameters:
        kind, info = _parts(parameter)
        if isinstance(info, ArgumentInfo):
            arguments.append(_argument(parameter, kind, info))
        rows.append(f"| `{_heading(parameter, kind, info)}` | {_text(name, parameter, info)} |")
    has_options = len(rows) > len(arguments)
    usage = " ".join([name, *(["[OPTIONS]"] if has_options else []), *arguments])
    lines = [f"## {name}", "", inspect.cleandoc(said), "", "```text", usage, "```", ""]
    return "\n".join([*lines, "| | |", "| --- | --- |", *rows, ""])


def _parts(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """Return the type of a parameter and what typer was told about it."""
    if get_origin(parameter.annotation) is not Annotated:
        required = parameter.default is inspect.Parameter.empty
        return parameter.annotation, ArgumentInfo() if required else OptionInfo()
    kind, *told = get_args(parameter.annotation)
    return kind, next(t for t in told if isinstance(t, ArgumentInfo | OptionInfo))


def _argument(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    name = info.metavar or parameter.name.upper()
    name = f"{name}…" if get_origin(kind) is list else name
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"


def _heading(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    if isinstance(info, ArgumentInfo):
        return _argument(parameter, kind, info)
    # Inside Annotated the first flag arrives as the default.
    first = [info.default] if isinstance(info.default, str) else []
    flags = [*first, *(info.param_decls or ())] or [f"--{parameter.name.replace('_', '-')}"]
    if kind is bool:
        return "`, `".join(flags)
    kinds = [k for k in (get_args(kind) or (kind,)) if k is not type(None)]
    return "`, `".join(flags) + f" {info.metavar or NAMES.get(kinds[0], 'TEXT')}"


def _text(name: str, parameter: inspect.Parameter, info: Any) -> str:
    said = fill_help(name.split()[-1], " ".join((info.help or "").split())).replace("|", "\\|")
    default = parameter.default
    if default is inspect.Parameter.empty or default is None or isinstance(default, bool):
        return said
    shown = info.show_default if isinstance(info.show_default, str) else f"`{default}`"
    return f"{said} Default: {shown}."


if __name__ == "__main__":
    PAGE.write_text(reference())
    sys.stdout.write(f"wrote {PAGE.name}\n")
