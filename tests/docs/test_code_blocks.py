"""Every code block of the README and the documentation runs, page by page.

Blocks of a page share a namespace and a folder with a small ``model.uai``. ``python`` blocks run
(as doctests where they have prompts), and so do the ``planaris`` commands of ``console`` blocks;
output below a command is compared. ``make`` commands must be targets. Anything else in them needs
a line ``<!-- not run: reason -->`` above the block. ``text``, ``json``, ``toml``, ``math`` and no
language are data.
"""

from __future__ import annotations

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from planaris.cli.main import make_app
from planaris.generate import spin_glass
from planaris.io import write_model

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DATA = ("", "text", "json", "toml", "math")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?^```(?P<language>\S*)[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

pytestmark = pytest.mark.repository


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    where: str
    line: int
    language: str
    body: str
    reason: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == (1 if text.startswith("```") else 0), f"{page}: open block"
    return [
        Block(
            page.relative_to(ROOT).as_posix(),
            text.count("\n", 0, found.start("body")),
            found["language"],
            found["body"],
            found["reason"],
        )
        for found in FENCE.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model(spin_glass(4, np.random.default_rng(0)), "model.uai")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.reason is not None:
            assert len(block.reason) > 10, "say why the block is not run"
        elif block.language == "python":
            run_python(block, names)
        elif block.language in ("console", "sh", "bash"):
            run_console(block)
        else:
            assert block.language in DATA, f"{block.where}:{block.line} {block.language}"
            looks_like_code = re.search(r"^(>>> |\$ )", block.body, re.MULTILINE)
            assert not looks_like_code, f"{block.where}:{block.line} needs a language"


def run_python(block: Block, names: dict[str, Any]) -> None:
    if ">>> " not in block.body:
        lines = "\n" * block.line + block.body  # so that a traceback shows the line of the page
        exec(compile(lines, block.where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(
        block.body, names, block.where, block.where, block.line
    )
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    failed, _ = runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not failed, "".join(said)


def run_console(block: Block) -> None:
    for command, expected in commands_of(block):
        words = shlex.split(command, comments=True)
        where = f"{block.where}:{block.line}: {command}"
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), where
            continue
        assert words[0] == "planaris", f"{where}: neither run nor marked as not run"
        done = CliRunner().invoke(make_app(), words[1:])
        assert done.exit_code == 0, f"{where}\n{done.output}\n{done.exception!r}"
        checker = doctest.OutputChecker()
        if expected and not checker.check_output(expected, done.stdout, FLAGS):
            pytest.fail(f"{where}\nexpected:\n{expected}\ngot:\n{done.stdout}")


def commands_of(block: Block) -> list[tuple[str, str]]:
    """Return the commands, each with the output below it."""
    if block.language != "console":
        return [(line, "") for line in block.body.splitlines() if line and line[0] != "#"]
    pieces = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    assert not pieces[0].strip(), f"{block.where}:{block.line}: commands begin with `$ `"
    split = (piece.partition("\n") for piece in pieces[1:])
    return [(command, output) for command, _, output in split]


def test_what_is_wrong_is_seen():
    text = "# T\n```python\n1\n```\n<!-- not run: needs a network -->\n```sh\npip x\n```\n"
    found = [(m["language"], m["reason"]) for m in FENCE.finditer(text)]
    assert found == [("python", None), ("sh", "needs a network")]
    with pytest.raises(AssertionError, match="Expected"):
        run_python(Block("page", 2, "python", ">>> 1 + 1\n3\n", None), {})
    with pytest.raises(ZeroDivisionError):
        run_python(Block("page", 2, "python", "1 / 0\n", None), {})
    with pytest.raises(AssertionError, match="marked"):
        run_console(Block("page", 2, "console", "$ rm model\n", None))
    with pytest.raises(AssertionError, match="no-such-file"):
        run_console(Block("page", 2, "console", "$ planaris map no-such-file\n", None))
