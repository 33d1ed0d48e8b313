"""Tests say nothing about time: the words of clocks occur where a reason is given, only.

Tests, examples of docstrings and blocks of the documentation are searched, as all of them run in
``make test``.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import planaris

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PACKAGE = Path(planaris.__file__).parent

NAMES = {
    *("perf_counter", "process_time", "thread_time", "monotonic", "clock_gettime"),
    *("perf_counter_ns", "process_time_ns", "thread_time_ns", "monotonic_ns", "time_ns"),
    *("default_timer", "wait_for_timeout", "set_default_timeout", "Timer"),
    *("sleep", "timeit", "alarm", "setitimer", "getrusage", "cpu_times", "utcnow"),
}
"""What a program asks for the time, or waits by."""

WAITS = {"wait", "join", "communicate", "acquire", "result", "settimeout"}
"""Methods that take a number of seconds as their first argument."""

REASONS = {
    "helpers/processes.py": "looks again for what a process writes; nothing is bounded",
    "helpers/toy_figure.py": "a trial waits until the test takes a file away",
    "browser/conftest.py": "timeout=0: a browser may take as long as it likes to start",
    "browser/test_play.py": "wait(1): for the first answer of the page, however long it takes",
    "unit/relax/test_relaxations.py": "seconds by a clock of the test",
    "unit/play/test_server.py": "the clock of the server is replaced by one of the test",
    "unit/test_no_clocks.py": "the words themselves",
}


def words_of_clocks(tree: ast.AST) -> Iterator[str]:
    """Yield what in a program asks for the time, waits for a time, or judges one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.attr
        elif isinstance(node, ast.Name) and node.id in NAMES:
            yield node.id
        elif isinstance(node, ast.alias) and (node.name in NAMES or _renames_time(node)):
            yield node.name
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from NAMES.intersection([node.value.rpartition(".")[2]])  # as of `setattr`
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Compare):
            yield from _of_comparison(node)


def _renames_time(alias: ast.alias) -> bool:
    return alias.name in ("time", "datetime") and alias.asname is not None


def _of_call(call: ast.Call) -> Iterator[str]:
    """Yield timeouts, positional ones too, and ``time.time()``."""
    yield from ("timeout=" for keyword in call.keywords if keyword.arg == "timeout")
    if not isinstance(call.func, ast.Attribute):
        return
    owner = ast.unparse(call.func.value).rpartition(".")[2]
    if (owner, call.func.attr) in (("time", "time"), ("datetime", "now")):
        yield f"{owner}.{call.func.attr}()"
    first = call.args[0] if call.args else None
    seconds = isinstance(first, ast.Constant) and isinstance(first.value, int | float)
    if call.func.attr in WAITS and seconds and first.value:
        yield f".{call.func.attr}({ast.unparse(call.args[0])})"


def _of_comparison(node: ast.Compare) -> Iterator[str]:
    """Yield the measured time of a result where it is compared with anything but zero."""
    sides = (node.left, *node.comparators)
    if any(isinstance(side, ast.Constant) and side.value == 0 for side in sides):
        return
    for side in sides:
        if isinstance(side, ast.Attribute) and side.attr == "seconds":
            yield f"{ast.unparse(side)} compared"
        by_name = isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Constant)
        if by_name and side.slice.value == "seconds":
            yield f"{ast.unparse(side)} compared"


def found_in(text: str) -> list[str]:
    return sorted(set(words_of_clocks(ast.parse(text))))


def examples_of(text: str) -> str:
    """Return the examples of a docstring or a page as a program."""
    examples = doctest.DocTestParser().get_examples(text)
    return "".join(example.source for example in examples)


def test_no_test_asks_for_the_time():
    found = {
        path.relative_to(TESTS).as_posix(): words
        for path in TESTS.rglob("*.py")
        if (words := found_in(path.read_text(encoding="utf-8")))
    }
    more = {file: words for file, words in found.items() if file not in REASONS}
    assert more == {}, "measure time in `planaris selftest` or in benchmarks/"
    assert set(found) == set(REASONS), "no reason is needed any more"


def test_no_example_of_a_docstring_asks_for_the_time():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds) and (said := ast.get_docstring(node)):
                assert found_in(examples_of(said)) == [], (path, getattr(node, "name", ""))


@pytest.mark.repository
def test_no_example_of_the_documentation_asks_for_the_time():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert found_in(examples_of(text)) == [], page.name
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            if ">>> " not in block:
                assert found_in(block) == [], page.name


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("import time\nassert time.perf_counter() - t < 1", "perf_counter"),
        ("from time import process_time", "process_time"),
        ("assert clock.monotonic() > 0", "monotonic"),
        ("assert time.time() < 5", "time.time()"),
        ("from time import time\nassert time() - t < 1", "time"),
        ("import time as clock\nassert clock.time() - t < 1", "time"),
        ("from timeit import default_timer", "default_timer"),
        ("assert datetime.datetime.now() < t", "datetime.now()"),
        ("page.wait_for_timeout(25)", "wait_for_timeout"),
        ("time.sleep(0.1)", "sleep"),
        ("monkeypatch.setattr('module.time.monotonic', fake)", "monotonic"),
        ("assert thread.join(timeout=2) is None", "timeout="),
        ("thread.join(2.5)", ".join(2.5)"),
        ("process.wait(10)", ".wait(10)"),
        ("assert found.seconds < 10", "found.seconds compared"),
        ("assert 10 > told['seconds']", "told['seconds'] compared"),
    ],
)
def test_words_of_clocks_are_found(program, word):
    assert word in found_in(program)


def test_other_words_are_not_clocks():
    program = (
        "', '.join(names)\nfound.join(edges)\nassert budget.seconds() == 4.0\nlimit = time_limit"
    )
    assert found_in(program) == []
