"""Findings of a check, one per claim."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

Status = Literal["proved", "recomputed", "unproved"]
"""How a claim was checked."""

TOO_LARGE = "its treewidth or its numbers are too large to recompute it"
"""Why a claim without a proof stays unproved."""


@dataclass(frozen=True)
class Finding:
    """One claim and how it was checked."""

    claim: str
    status: Status
    detail: str = ""


@dataclass(frozen=True)
class CheckReport:
    """What was found out about a result."""

    findings: list[Finding]

    @property
    def proved(self) -> bool:
        """Whether every claim was proved or recomputed."""
        return all(finding.status != "unproved" for finding in self.findings)

    def _repr_html_(self) -> str:
        cells = ((one.claim, one.status, one.detail) for one in self.findings)
        rows = (
            "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row)
            for row in cells
        )
        title = f"CheckReport: {'proved' if self.proved else 'not all proved'}"
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><caption><b>{title}</b></caption>{body}</table>"
