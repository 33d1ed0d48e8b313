"""What a check has to say: one finding per claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One claim and how it was checked: ``"proved"``, ``"recomputed"`` or ``"unproved"``."""

    claim: str
    status: str
    detail: str = ""


@dataclass(frozen=True)
class CheckReport:
    """What was found out about a result."""

    findings: list[Finding]

    @property
    def proved(self) -> bool:
        """Whether every claim was proved or recomputed."""
        return all(finding.status != "unproved" for finding in self.findings)
