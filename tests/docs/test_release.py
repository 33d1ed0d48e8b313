"""The version is one, and the changelog gathers its fragments by section."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.repository

PAGE = """# Changelog

## [Unreleased]

See `changelog.d/`.

## [0.1.0]

First.
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("gather", ROOT / "tools" / "gather_changelog.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\nVersion {version} (" in (ROOT / "README.md").read_text()
    newest = re.findall(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest == version


def test_points_are_gathered_by_section_once(tool):
    texts = ["- New\n  thing.\n- Fixed: a hang.\n", "One sentence: with a colon.\n", "- New thing."]
    assert tool.sort_points(texts) == {
        "Added": ["New thing.", "One sentence: with a colon."],
        "Fixed": ["A hang."],
    }


def test_fragments_go_under_unreleased_or_a_new_version(tool):
    page = tool.gather(PAGE, ["- New."])
    assert "## [Unreleased]\n\n### Added\n\n- New.\n\n## [0.1.0]" in page
    page = tool.gather(PAGE, ["- New."], "0.2.0", "2030-01-02")
    assert "d/`.\n\n## [0.2.0] - 2030-01-02\n\n### Added\n\n- New.\n\n## [0.1.0]" in page


def test_every_fragment_can_be_gathered(tool):
    for file in tool.fragments():
        assert tool.points(file.read_text()), file
