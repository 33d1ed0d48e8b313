"""Build the documentation site under build/site: `make docs`.

The pages of docs/ are copied to build/docs; pages that are made from code are added there: the
API reference (one page per package), the gallery (one page per example, which is run for its
picture) and the contents. Warnings are errors. The site needs no network.
"""

from __future__ import annotations

import ast
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import planaris

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

CONTENTS = """
```{toctree}
:caption: Begin
:hidden:

quickstart
conventions
reliability
architecture
gallery/index
```

```{toctree}
:caption: How to
:hidden:
:glob:

howto/*
```

```{toctree}
:caption: Theory
:hidden:
:glob:

theory/*
```

```{toctree}
:caption: Reference
:hidden:
:glob:

api/index
cli
formats/*
```

```{toctree}
:caption: Project
:hidden:

contributing
changelog
```
"""


def main() -> int:
    """Copy, generate, build; return the exit code of Sphinx."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE, ignore=shutil.ignore_patterns("__pycache__"))
    index = STAGE / "README.md"
    (STAGE / "index.md").write_text(index.read_text() + CONTENTS)
    index.unlink()
    contributing = (ROOT / "CONTRIBUTING.md").read_text().replace("](docs/", "](")
    (STAGE / "contributing.md").write_text(contributing)
    (STAGE / "changelog.md").write_text(_changelog())
    _write_api(STAGE / "api")
    _write_gallery(STAGE / "gallery")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run([*command, str(STAGE), str(SITE)], check=False)
    if done.returncode == 0:
        print(f"Look at {SITE / 'index.html'}")
    return done.returncode


def _changelog() -> str:
    text = (ROOT / "CHANGELOG.md").read_text()
    fragments = sorted((ROOT / "changelog.d").glob("*.md"))
    return "\n".join([text, "## Not yet released\n", *(page.read_text() for page in fragments)])


def public_packages() -> list[str]:
    """Return the packages and modules of planaris that have an API page."""
    hidden = {"cli", "kernels", "typing"}
    found = [m.name for m in pkgutil.iter_modules(planaris.__path__) if not m.name.startswith("_")]
    return sorted(name for name in found if name not in hidden)


def _write_api(folder: Path) -> None:
    folder.mkdir()
    lines = ["# API", "", "`import planaris as pl` has the names that matter:", ""]
    for name in planaris.__all__:
        home = planaris._HOME.get(name, name)
        lines.append(f"- [`pl.{name}`]({home}.rst)")
    names = public_packages()
    lines += ["", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(lines))
    for name in names:
        (folder / f"{name}.rst").write_text(_api_page(name))


def _api_page(name: str) -> str:
    """Return the page of a package: its public names, then those of modules it does not list."""
    modules = [f"planaris.{name}"]
    package = Path(planaris.__file__).parent / name
    if package.is_dir() and "__all__" not in (package / "__init__.py").read_text():
        modules += [f"planaris.{name}.{m.name}" for m in pkgutil.iter_modules([str(package)])]
    directives = [f".. automodule:: {module}\n   :members:\n" for module in modules]
    title = f"planaris.{name}"
    return "\n".join([title, "=" * len(title), "", *directives])


def _write_gallery(folder: Path) -> None:
    folder.mkdir()
    names = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    intro = "Every picture is made by the program below it, when this site is built."
    listing = ["# Gallery", "", intro, "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(listing))
    for name in names:
        print(f"running examples/{name}.py", flush=True)
        source = (ROOT / "examples" / f"{name}.py").read_text()
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--out", f"{name}.png"]
        environment = {**os.environ, "COLUMNS": "80"}
        done = subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, env=environment
        )
        (folder / f"{name}.md").write_text(_gallery_page(name, source, done.stdout))


def _gallery_page(name: str, source: str, printed: str) -> str:
    tree = ast.parse(source)
    said = ast.get_docstring(tree) or ""
    title, _, text = said.partition("\n")
    code = source.split('"""', 2)[2].strip()
    parts = [
        f"# {title.rstrip('.')}",
        text.strip(),
        f"![{title}]({name}.png)" if (STAGE / "gallery" / f"{name}.png").exists() else "",
        f"```text\n{printed.strip()}\n```",
        f"`python examples/{name}.py --help` lists the sizes for real runs.",
        f"```python\n{code}\n```",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
