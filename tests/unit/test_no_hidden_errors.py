"""Solvers hide no errors: a handler of a wide class raises again, or a reason is given here.

``ValueError`` and its like are what NumPy, SciPy and every bug raise. A solver that takes them for
"numbers too large" reports a weaker bound where it should have failed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import planaris

PACKAGE = Path(planaris.__file__).parent

WIDE = {
    *("Exception", "BaseException", "ValueError", "TypeError", "RuntimeError", "AssertionError"),
    *("LookupError", "KeyError", "IndexError", "AttributeError", "NameError", "ArithmeticError"),
    "PlanarisError",
}

REFUSALS = {"refuse", "_refuse", "_refuse_inexact"}
"""Functions that raise."""

REASONS = {
    "bounds/entropy/appearance.py": "SciPy's word for least squares that come to no end",
    "cli/": "the end of a command: the error is printed",
    "embed/embedding.py": "operator.index of an argument, refused below",
    "embed/torus_drawing.py": "SuperLU's word for a singular matrix",
    "experiments/": "the error of one trial is stored with it; the others go on",
    "gpu/device.py": "torch.device of an argument, refused below",
    "io/files.py": "a name that is no path, refused below",
    "io/rows.py": "float of a word of a file, refused below",
    "machine.py": "files of the system that are absent or of another form",
    "models/arrays.py": "operator.index of an argument, refused below",
    "play/": "the page shows the error",
    "recover/observe.py": "float of an argument, refused below",
    "selftest/": "the error is what is looked for",
    "verify/recompute/determinant.py": "SuperLU's word for a singular matrix: nothing is verified",
}


def hidden_errors(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the class of every wide handler that does not raise."""
    for node in ast.walk(tree):
        caught: set[str] = set()
        if isinstance(node, ast.ExceptHandler):
            if not any(_raises(inner) for inner in ast.walk(node)):
                caught = {"BaseException"} if node.type is None else set(_names(node.type))
        elif isinstance(node, ast.Call) and "suppress" in _names(node.func):
            caught = {name for argument in node.args for name in _names(argument)}
        for name in sorted(caught & WIDE):
            yield getattr(node, "lineno", 0), name


def _raises(node: ast.AST) -> bool:
    called = set(_names(node.func)) if isinstance(node, ast.Call) else set()
    return isinstance(node, ast.Raise) or bool(called & REFUSALS)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the last part of a name, or of all names of a tuple."""
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _names(element)
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def _reason(name: str) -> str | None:
    return next((place for place in REASONS if name == place or name.startswith(place)), None)


def test_wide_handlers_raise_again_or_have_a_reason():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = list(hidden_errors(ast.parse(path.read_text(encoding="utf-8"))))
        if lines:
            found[path.relative_to(PACKAGE).as_posix()] = lines
    assert {name: lines for name, lines in found.items() if _reason(name) is None} == {}
    assert set(REASONS) == {_reason(name) for name in found}, "reasons that nothing needs"


def test_hidden_errors_are_found():
    text = """
try: pass
except (np.linalg.LinAlgError, ValueError): status = "broken"
try: pass
except ValueError as error: raise MethodError from error
try: pass
except KeyError as error: refuse(path, error)
try: pass
except: pass
try: pass
except TimeoutError: pass
with suppress(TimeoutError, RuntimeError): pass
"""
    found = list(hidden_errors(ast.parse(text)))
    assert sorted(found) == [(3, "ValueError"), (9, "BaseException"), (12, "RuntimeError")]
