"""Matplotlib figures as SVG that can stand in a page, many of them together."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from planaris.errors import missing_extra
from planaris.report.pictures import DOWN


def to_svg(figure: Any, prefix: str, label: str) -> str:
    """Return a figure as an ``<svg>`` element for use inside HTML.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn without its background; black, white and the blue of spins that are down become the
        colours of the page.
    prefix : str
        Put before all ids, so that several elements can share a page. Letters, digits, hyphens.
    label : str
        What it shows, for those who cannot see it.
    """
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise missing_extra(package="matplotlib", extra="plot") from error
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return _in_colours_of_the_page(_with_prefix(_labelled(svg, label), prefix))


def _labelled(svg: str, label: str) -> str:
    start, end = svg.split(">", 1)
    start = re.sub(r'\s(width|height)="[^"]*"', "", start)
    width = re.search(r'viewBox="0 0 ([\d.]+)', start)
    size = f' style="--width: {float(width[1]):.0f}px"' if width else ""
    return f'{start} role="img" aria-label="{escape(label, quote=True)}"{size}>{end}'


def _with_prefix(svg: str, prefix: str) -> str:
    """Make ids unique, in tags only: text between tags is left alone."""

    def rename(tag: re.Match[str]) -> str:
        named = re.sub(r'(\sid=")', rf"\g<1>{prefix}-", tag[0])
        named = re.sub(r"(url\(#)", rf"\g<1>{prefix}-", named)
        return re.sub(r'(href="#)', rf"\g<1>{prefix}-", named)

    return re.sub(r"<[a-zA-Z][^>]*>", rename, svg)


def _in_colours_of_the_page(svg: str) -> str:
    colours = {"#000000": "currentColor", "#ffffff": "var(--card)", DOWN: f"var(--down, {DOWN})"}

    def recolour(style: re.Match[str]) -> str:
        return re.sub(r"#[0-9a-f]{6}", lambda found: colours.get(found[0], found[0]), style[0])

    return re.sub(r'style="[^"]*"', recolour, svg)
