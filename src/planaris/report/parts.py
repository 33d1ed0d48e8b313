"""What a page is made of: plain data, whatever it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure with a caption, drawn as SVG on the page."""

    caption: str
    figure: Any


@dataclass(frozen=True)
class Table:
    """A table; cells are shown with ``str``, floats with four digits, None as a dash."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Verdict:
    """One claim beside what was measured.

    Attributes
    ----------
    claim : str
        What was said.
    measured : str
        What the data say, with numbers.
    holds : bool or None
        Computed from the data; None when they do not decide.
    rule : str
        How ``holds`` follows from the data, in words: what would have made it fail.
    needs : str
        Where ``holds`` is None, what would decide it.
    """

    claim: str
    measured: str
    holds: bool | None
    rule: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Panels:
    """What the stored results of one experiment show."""

    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """One experiment on a page.

    Attributes
    ----------
    name : str
        Short and unique; the anchor of the section.
    title, source, claim : str
        What it is, where it was published, and what was claimed there; without a claim, pictures
        and tables stand for themselves.
    command : str
        The command that makes it.
    done, total : int
        Trials stored, and trials there are; the page says when they differ.
    panels : Panels
        What to show.
    problems : sequence of str
        What went wrong, shown first.
    """

    name: str
    title: str
    source: str
    claim: str
    command: str
    done: int
    total: int
    panels: Panels = field(default_factory=Panels)
    problems: Sequence[str] = ()
