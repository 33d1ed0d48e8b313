"""One self-contained HTML page: every experiment, its claim, what was measured, a verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from planaris.report.parts import Picture, Section, Table, Verdict
from planaris.report.svg import to_svg
from planaris.writing import open_whole

MARKS = {True: ("holds", "✓"), False: ("fails", "✗"), None: ("open", "?")}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded from anywhere, and no script runs."""


def render_page(
    title: str, sections: Sequence[Section], *, intro: str = "", facts: Mapping[str, str] | None
) -> str:
    """Return a page as HTML text; everything given is escaped.

    Parameters
    ----------
    title, intro : str
        Top of the page.
    sections : sequence of Section
        In the order they are shown.
    facts : mapping, optional
        Machine and versions, by name.

    Examples
    --------
    >>> section = Section("a", "An <a>", "paper", "claim", "planaris reproduce a", 1, 2)
    >>> page = render_page("Figures", [section], facts=None)
    >>> "An &lt;a&gt;" in page, "1 of 2 trials" in page
    (True, True)
    """
    style = files("planaris.report").joinpath("page.css").read_text(encoding="utf-8")
    body = [
        f"<header><h1>{escape(title)}</h1>",
        f"<p>{escape(intro)}</p>" if intro else "",
        _overview(sections),
        "</header><main>",
        *(_section(section) for section in sections),
        "</main>",
        _facts(facts),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body></html>\n"
    )


def write_page(path: Path, html: str) -> None:
    """Write a page atomically: readers see the old page or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_whole(path) as file:
        file.write(html.encode())


def anchor(name: str) -> str:
    """Return a name as an id: letters, digits and hyphens.

    >>> anchor("ring cost<1>")
    'ring-cost-1'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "section"


def _overview(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        marks = " ".join(_mark(verdict.holds) for verdict in section.panels.verdicts)
        trials = f"{section.done} of {section.total}"
        state = "complete" if _complete(section) else "partial"
        rows.append(
            f'<tr><td><a href="#{anchor(section.name)}">{escape(section.title)}</a></td>'
            f"<td>{escape(section.source)}</td><td>{marks or '–'}</td>"
            f'<td class="{state}">{trials}</td></tr>'
        )
    head = "<tr><th>figure</th><th>published in</th><th>claims</th><th>trials</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<nav class="scroll" aria-label="figures">{table}</nav>'


def _complete(section: Section) -> bool:
    return section.done == section.total > 0


def _section(section: Section) -> str:
    name = anchor(section.name)
    panels = section.panels
    parts = [
        f'<section id="{name}"><h2><a href="#{name}">{escape(section.title)}</a></h2>',
        f'<p class="source">{escape(section.source)} · {_link(name)}</p>',
        *(f'<p class="problem">{escape(problem)}</p>' for problem in section.problems),
    ]
    if not _complete(section):
        parts.append(
            f'<p class="partial" role="status">Incomplete: {section.done} of {section.total} '
            "trials are stored. Numbers below are of these alone; run the command to go on.</p>"
        )
    if section.claim:
        parts += [
            f'<div class="claims"><div><h3>The paper says</h3><p>{escape(section.claim)}</p></div>',
            f"<div><h3>Measured here</h3>{_verdicts(panels.verdicts)}</div></div>",
        ]
    parts += [
        '<div class="pictures">',
        *(_picture(picture, f"{name}-{k}") for k, picture in enumerate(panels.pictures)),
        "</div>",
        *(f"<p>{_prose(note)}</p>" for note in panels.notes),
        *(_table(table, shown=not section.claim) for table in panels.tables),
        f'<div id="{name}-command" class="command"><code>{escape(section.command)}</code></div>',
        "</section>",
    ]
    return "\n".join(parts)


def _link(name: str) -> str:
    return f'<a href="#{name}-command">how to make this</a>'


def _mark(holds: bool | None) -> str:
    word, sign = MARKS[holds]
    return f'<span class="mark {word}" title="{word}">{sign}<span class="word">{word}</span></span>'


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "<p>Nothing yet.</p>"
    rows = (
        f"<li>{_mark(verdict.holds)}<div><p>{escape(verdict.claim)}</p>"
        f'<p class="measured">{escape(verdict.measured)}</p>{_rule(verdict)}</div></li>'
        for verdict in verdicts
    )
    return f'<ul class="verdicts">{"".join(rows)}</ul>'


def _rule(verdict: Verdict) -> str:
    lines = []
    if verdict.rule:
        lines.append(f'<p class="rule">Holds if {_prose(verdict.rule)}.</p>')
    if verdict.holds is None and verdict.needs:
        lines.append(f'<p class="rule">To decide it: {_prose(verdict.needs)}.</p>')
    return "".join(lines)


def _prose(text: str) -> str:
    """Return text as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _picture(picture: Picture, prefix: str) -> str:
    svg = to_svg(picture.figure, prefix, picture.caption)
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>"
    return f'<figure><div class="scroll">{svg}</div>{caption}</figure>'


def _table(table: Table, *, shown: bool = False) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in table.header)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row)}</tr>"
        for row in table.rows
    )
    return (
        f"<details{' open' if shown else ''}><summary>{escape(table.caption)}</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        "</div></details>"
    )


def _shown(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _facts(facts: Mapping[str, str] | None) -> str:
    if not facts:
        return ""
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f'<footer id="machine"><h2>Machine and versions</h2><dl>{rows}</dl></footer>'
