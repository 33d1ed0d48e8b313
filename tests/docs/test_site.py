"""The documentation is complete, fresh and linked."""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import planaris

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

INSIDE = ("selftest",)
"""Packages for those who work on planaris."""

pytestmark = pytest.mark.repository


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_command_line_is_fresh():
    fresh = tool("make_cli_reference").reference()
    assert (DOCS / "cli.md").read_text() == fresh, "run `make cli-reference`"


def test_the_table_of_methods_is_fresh():
    made = tool("make_method_table")
    assert made.PAGE.read_text() == made.reference(), "run `make method-table`"
    assert made.NAMES.read_text() == made.names_module(), "run `make method-table`"


def test_every_command_is_in_the_reference():
    from planaris.cli.main import make_app

    page = (DOCS / "cli.md").read_text()
    for command in make_app().registered_commands:
        assert f"## planaris {command.name or command.callback.__name__}\n" in page


def test_every_page_is_in_the_contents():
    contents = tool("build_docs").CONTENTS
    entries = [line for line in contents.splitlines() if line and line[0] not in "`:"]
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        assert name == "README" or any(fnmatch.fnmatch(name, entry) for entry in entries), name


def test_every_page_has_one_title():
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert text.startswith("# "), page.name
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, page.name


def test_every_public_package_has_an_api_page():
    names = tool("build_docs").public_packages()
    homes = {planaris._HOME.get(name, name) for name in planaris.__all__}
    assert homes <= set(names)
    assert {"interop", "verify", "io", "bounds", "relax"} <= set(names)


def test_what_is_public_has_a_docstring_and_functions_an_example():
    for package in tool("build_docs").public_packages():
        module = importlib.import_module(f"planaris.{package}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            said = inspect.getdoc(thing) or ""
            assert said, f"planaris.{package}.{name}"
            if inspect.isfunction(thing) and package not in INSIDE:
                assert ">>>" in said, f"planaris.{package}.{name} has no example"
    for name in planaris.__all__:
        thing = getattr(planaris, name)
        assert inspect.ismodule(thing) or ">>>" in (inspect.getdoc(thing) or ""), name


def test_the_architecture_names_every_package_and_no_other():
    page = (DOCS / "architecture.md").read_text()
    table = page.split("| folder |")[1].split("\n\n")[0]
    named = {
        name.rstrip("/")
        for row in table.splitlines()
        for name in re.findall(r"`(\w+/?)`", row.split(" | ")[0])
    }
    there = {m.name for m in pkgutil.iter_modules(planaris.__path__) if m.name[0] != "_"}
    assert named - {"cpp"} == there


def test_the_architecture_names_every_folder_of_the_core_and_no_other():
    page = (DOCS / "architecture.md").read_text()
    table = page.split("may include |")[1].split("\n\n")[0]
    named = {found for row in table.splitlines() for found in re.findall(r"^\| `(\w+)/`", row)}
    assert named == {path.name for path in (ROOT / "cpp").iterdir() if path.is_dir()}


def test_folders_of_the_core_include_what_the_architecture_says():
    page = (DOCS / "architecture.md").read_text()
    rows = page.split("may include |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    listed = {row[0].strip("`/"): re.findall(r"`(\w+)`", row[2]) for row in cells if len(row) > 2}
    listed["fuzz"] = list(listed)  # all

    def reach(folder: str) -> set[str]:
        return {folder}.union(*(reach(below) for below in listed.get(folder, ())))

    for folder in listed:
        if folder == "fuzz":
            continue
        for file in (ROOT / "cpp" / folder).glob("*.?pp"):
            used = set(re.findall(r'#include "(\w+)/', file.read_text()))
            assert used - {"third_party", "base"} <= reach(folder), file.name


@pytest.mark.parametrize("page", ["architecture", "glossary"])
def test_files_that_a_page_names_are_there(page):
    """Paths are those of the repository, of the package, or below a folder named before."""
    text = (DOCS / f"{page}.md").read_text()
    for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|hpp|inl|md))`", text):
        places = (ROOT, ROOT / "src" / "planaris", ROOT / "cpp")
        assert any((place / name).exists() for place in places), name


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)", page.read_text()):
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name} links to {target}"
            if anchor and path.suffix == ".md":
                assert anchor[1:] in anchors_of(path), f"{page.name} links to {target}{anchor}"


def anchors_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_formulas_between_dollars_are_set_on_the_site():
    """GitHub sets them by itself; the site needs the extension, and empty lines around blocks."""
    assert "dollarmath" in (DOCS / "conf.py").read_text()
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"[^\n]\n\$\$|\$\$\n[^\n]", text), page.name
        assert text.count("$") % 2 == 0, page.name


def test_every_theory_page_has_a_formula_that_is_set():
    for page in (DOCS / "theory").glob("*.md"):
        assert re.search(r"^\s*```math|\$", page.read_text(), re.MULTILINE), page.name


@pytest.mark.slow
def test_the_site_builds_and_needs_no_network():
    pytest.importorskip("sphinx")
    subprocess.run([sys.executable, str(ROOT / "tools" / "build_docs.py")], check=True)
    for page in (ROOT / "build" / "site").rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|link)[^>]*(?:src|href)=\"(https?:[^\"]*)", page.read_text()
        )
        assert not loaded, f"{page.name} loads {loaded}"
        if page.parent.name == "theory":
            prose = re.sub(r"<(code|pre|script).*?</\1>", "", page.read_text(), flags=re.DOTALL)
            assert "$" not in re.sub(r"<[^>]*>", "", prose), page.name
        for target in re.findall(
            r"<(?:a|img)[^>]*(?:src|href)=\"([^\"#?:]+)[#?\"]", page.read_text()
        ):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
