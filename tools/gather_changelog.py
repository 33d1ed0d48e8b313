"""Move changelog.d/ into CHANGELOG.md: `python tools/gather_changelog.py [VERSION]`.

Each point of a fragment goes to the section that its first word names (`Changed:`, `Deprecated:`,
`Removed:`, `Fixed:`, `Security:`), the others to "Added". Without a version they come under
"Unreleased"; with one a new heading with today's date is made. Points that are there already are
left out. Edit the page afterwards: one line for what users see as one thing.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def fragments() -> list[Path]:
    """Return the files of changes that no release has gathered."""
    return sorted(f for f in (ROOT / "changelog.d").glob("*.md") if f.name != "README.md")


def points(text: str) -> list[str]:
    """Return the points of a fragment, each in one line; text without dashes is one point."""
    parts = re.split(r"^- ", text.strip(), flags=re.MULTILINE)
    return [" ".join(part.split()) for part in parts if part.strip()]


def sort_points(texts: list[str]) -> dict[str, list[str]]:
    """Return the points of all fragments by section."""
    found: dict[str, list[str]] = {}
    for point in (point for text in texts for point in points(text)):
        section, colon, rest = point.partition(": ")
        known = bool(colon) and section in SECTIONS
        said = rest[:1].upper() + rest[1:] if known else point
        listed = found.setdefault(section if known else "Added", [])
        if said not in listed:
            listed.append(said)
    return found


def gather(page: str, texts: list[str], version: str | None = None, today: str = "") -> str:
    """Return the page with the points of the fragments under its first heading, or a new one."""
    start = page.index("## [Unreleased]\n") + len("## [Unreleased]\n")
    end = page.index("\n## [", start)
    if version is not None:
        start = end
    lines = [f"\n## [{version}] - {today}\n"] if version is not None else []
    for section, found in sorted(sort_points(texts).items(), key=lambda s: SECTIONS.index(s[0])):
        lines += [f"\n### {section}\n\n", *(f"- {point}\n" for point in found)]
    return page[:start] + "".join(lines) + page[end:]


def main(words: list[str]) -> None:
    files = fragments()
    page = ROOT / "CHANGELOG.md"
    today = dt.date.today().isoformat()
    texts = [file.read_text() for file in files]
    page.write_text(gather(page.read_text(), texts, words[0] if words else None, today))
    for file in files:
        file.unlink()
    print(f"{len(files)} fragments are in CHANGELOG.md; edit it to read well")


if __name__ == "__main__":
    main(sys.argv[1:])
