"""Sphinx configuration; `make docs` runs it on a copy of this folder (tools/build_docs.py)."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

project = "planaris"
author = "The planaris developers"
copyright = author
version = release = installed_version("planaris")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["conf.py", "images/README.md"]
highlight_language = "none"
suppress_warnings = [
    "misc.highlighting_failure",  # examples of files with … in them
    "ref.python",  # words in the types of parameters that are names of several attributes
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_fence_as_directive = {"math"}  # as GitHub has them

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections say them in words
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"planaris {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # browsers do not fetch pages of a site that is opened from disk
pygments_dark_style = "github-dark"  # the default underlines names of modules


def _mathml(self: Any, node: nodes.Element) -> None:
    """Write formulas as MathML, which browsers draw without scripts or a network."""
    block = isinstance(node, nodes.math_block)
    formula = re.sub(r"\\[Bb]igg?(?![A-Za-z])", "", node.astext())  # MathML stretches by itself
    formula = re.sub(r"\\(hat|tilde) ?([A-Za-z])", r"{\\\1{\2}}", formula)  # indices beside them
    try:
        drawn = latex2mathml.tex2mathml(formula, as_block=block)
        close = '<mo lspace="0" rspace="0" stretchy="false">|</mo>'  # sizes, not operators
        self.body.append(re.sub(r"<mo[^>]*>\|</mo>", close, drawn))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %r", error, formula, location=node)
    raise nodes.SkipNode


def _keep_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep |S| in docstrings what it is, a size: docutils takes it for a substitution."""
    in_example = False
    for k, line in enumerate(lines):
        in_example = line.strip().startswith(">>>") or (in_example and bool(line.strip()))
        if in_example or "\\" in line:
            continue
        parts = line.split("``")
        parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
        lines[k] = "``".join(parts)


def _split_names(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give attributes that share a line, ``lower, upper : float``, an entry each."""
    found: list[str] = []
    section, at = "", 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and lines[at + 1].strip() and not lines[at + 1].strip("- "):
            section = line.strip()
        shared = re.fullmatch(r"(\s*)(\w+(?:, \w+)+)( : .*)?", line)
        end = at + 1
        if section == "Attributes" and shared is not None:
            while end < len(lines) and (
                not lines[end].strip() or lines[end].startswith(shared[1] + "    ")
            ):
                end += 1
            for one in shared[2].split(", "):
                found += [f"{shared[1]}{one}{shared[3] or ''}", *lines[at + 1 : end]]
        else:
            found.append(line)
        at = end
    lines[:] = found


def _source_module(app: Any, module: str, name: str) -> str | None:
    """Keep what Python made by itself, as the fields of a tuple, where it is documented."""
    thing: Any = import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part, None)
    return module if getattr(thing, "__module__", None) in (None, "builtins") else None


def setup(app: Any) -> None:
    """Register the renderer of formulas, and how docstrings and sources are read."""
    app.connect("viewcode-follow-imported", _source_module)
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))
    app.connect("autodoc-process-docstring", _split_names, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _keep_bars)
