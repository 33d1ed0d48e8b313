"""Sphinx configuration; `make docs` runs it on a copy of this folder (tools/build_docs.py)."""

from __future__ import annotations

import re
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
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections say them in words
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"planaris {release}"
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False


def _mathml(self: Any, node: nodes.Element) -> None:
    """Write formulas as MathML, which browsers draw without scripts or a network."""
    block = isinstance(node, nodes.math_block)
    formula = re.sub(r"\\[Bb]igg?(?![A-Za-z])", "", node.astext())  # MathML stretches by itself
    try:
        self.body.append(latex2mathml.tex2mathml(formula, as_block=block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %r", error, formula, location=node)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))
