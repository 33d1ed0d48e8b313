"""Make the pictures that pages end in, by their own code: `make pictures`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def code_of(page: Path) -> tuple[str, str]:
    """Return the Python of a page, and the name of the picture that it saves."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks)
    return code, re.findall(r"savefig\(\"(.*?)\"\)", code)[-1]


def main() -> None:
    """Run every page and keep its picture under the name that the page shows."""
    for page in sorted([*DOCS.glob("howto/ten-minutes-*.md"), DOCS / "howto" / "pictures.md"]):
        code, name = code_of(page)
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", code]
            subprocess.run(command, cwd=folder, env={**os.environ, "MPLBACKEND": "agg"}, check=True)
            shutil.copy(Path(folder) / name, DOCS / "images" / f"{page.stem}.png")
        print(f"docs/images/{page.stem}.png")


if __name__ == "__main__":
    main()
