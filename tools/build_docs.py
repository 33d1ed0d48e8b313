"""Build the documentation site under build/site: `make docs`.

The pages of docs/ are copied to build/docs; pages that are made from code are added there: the
API reference (one page per package), the gallery (one page per example, which is run for its
picture) and the contents. Warnings are errors. The site needs no network.
"""

from __future__ import annotations

import ast
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import planaris

sys.path.insert(0, str(Path(__file__).parent))
import gather_changelog

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

SIZES = {
    "spin_glass": ["--size", "32", "--samples", "200"],
    "surface_code": ["--shots", "1500"],
}
"""Examples whose pictures need more than their quick default, which tests run."""

INTERNAL = (
    "budget",
    "machine",
    "notebook",
    "play",
    "progress",
    "selftest",
    "show",
    "writing",
)
"""Modules that are for those who work on planaris."""

INSIDE = ("gpu", "methods", "reductions", "reference", "subgraphs")
"""Packages that methods are made of, listed apart."""

ON_SITE = """\
- [gallery](gallery/index.md): programs with their pictures, from spin glasses to surface codes
- [API](api/index.md): every public name"""
"""What the front page has in place of its line on examples."""

CONTENTS = """
```{toctree}
:caption: Begin
:hidden:

quickstart
conventions
methods
glossary
reliability
stability
architecture
gallery/index
```

```{toctree}
:caption: How to
:hidden:

howto/ten-minutes-physics
howto/ten-minutes-vision
howto/ten-minutes-graphs
howto/ten-minutes-uai
howto/coming-from
howto/graphs-and-matrices
howto/dimod
howto/decode
howto/temperatures
howto/not-planar
howto/pictures
howto/many-models
howto/gpu
howto/segmentation
howto/denoise
howto/play
howto/reproduce
howto/add-a-figure
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
    for folder in (STAGE, SITE):  # nothing of pages that are gone
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE, ignore=shutil.ignore_patterns("__pycache__"))
    index = STAGE / "README.md"
    front = re.sub(r"^- \[examples\].*$", ON_SITE, index.read_text(), flags=re.MULTILINE)
    (STAGE / "index.md").write_text(front + CONTENTS)
    index.unlink()
    for page in STAGE.rglob("*.md"):  # doctests end in an empty line, which nobody needs to see
        page.write_text(re.sub(r"\n\n```$", "\n```", page.read_text(), flags=re.MULTILINE))
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
    fragments = [file.read_text() for file in gather_changelog.fragments()]
    return gather_changelog.gather(text, fragments).replace("](docs/", "](")


def public_packages() -> list[str]:
    """Return the packages and modules of planaris that have an API page."""
    hidden = {"cli", "kernels", "typing", *INTERNAL}
    found = [m.name for m in pkgutil.iter_modules(planaris.__path__) if not m.name.startswith("_")]
    return sorted(name for name in found if name not in hidden)


def _write_api(folder: Path) -> None:
    folder.mkdir()
    lines = ["# API", "", "`import planaris as pl` has the names that matter:", ""]
    for name in planaris.__all__:
        home = planaris._HOME.get(name)
        where = f"planaris.{home}.{name}" if home else f"planaris.{name}"
        lines.append(f"- {{py:obj}}`pl.{name} <{where}>`: {_summary(getattr(planaris, name))}")
    names = public_packages()
    lines += ["", "Packages (`pl.bounds` and the others need no import of their own):", ""]
    lines += [_package_line(name) for name in names if name not in INSIDE]
    lines += ["", "What methods are made of, for those who add one:", ""]
    lines += [_package_line(name) for name in names if name in INSIDE]
    lines += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(lines))
    for name in names:
        (folder / f"{name}.rst").write_text(_api_page(name))


def _package_line(name: str) -> str:
    return f"- [`planaris.{name}`]({name}.rst): {_summary(import_module(f'planaris.{name}'))}"


def _summary(thing: object) -> str:
    """Return the first sentence that a docstring says, without its roles and full stop."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first).replace("``", "`").rstrip(".")


def _api_page(name: str) -> str:
    """Return the page of a package: its public names, then those of modules it does not list."""
    modules = [f"planaris.{name}"]
    package = Path(planaris.__file__).parent / name
    if package.is_dir() and "__all__" not in (package / "__init__.py").read_text():
        modules += [f"planaris.{name}.{m.name}" for m in pkgutil.iter_modules([str(package)])]
    directives = [f".. automodule:: {module}\n   :members:\n" for module in modules]
    there = vars(import_module(f"planaris.{name}"))
    later = [one for one in there.get("__all__", ()) if one not in there]  # imported on first use
    directives += [f".. autofunction:: planaris.{name}.{one}\n" for one in later]
    title = f"planaris.{name}"
    return "\n".join([title, "=" * len(title), "", *directives])


def _write_gallery(folder: Path) -> None:
    folder.mkdir()
    names = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    intro = "Every picture is made by the program on its page, when this site is built."
    listing = ["# Gallery", "", intro, "", "```{toctree}", ":hidden:", "", *names, "```", ""]
    for name in names:
        sizes = SIZES.get(name, [])
        print(" ".join([f"running examples/{name}.py", *sizes]), flush=True)
        source = (ROOT / "examples" / f"{name}.py").read_text()
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *sizes]
        environment = {**os.environ, "COLUMNS": "80"}
        done = subprocess.run(
            [*command, "--out", f"{name}.png"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        (folder / f"{name}.md").write_text(_gallery_page(name, source, done.stdout))
        listing.append(_gallery_entry(name, source))
    (folder / "index.md").write_text("\n".join(listing))


def _title(source: str) -> str:
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].rstrip(".")


def _gallery_entry(name: str, source: str) -> str:
    picture = ["```{image} " + f"{name}.png", f":alt: {_title(source)}", f":target: {name}.html"]
    return "\n".join(
        [f"**[{_title(source)}]({name}.md)**", "", *picture, ":width: 34rem", "```", ""]
    )


def _gallery_page(name: str, source: str, printed: str) -> str:
    title = _title(source)
    text = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[2]
    run = " ".join([f"python examples/{name}.py", *SIZES.get(name, [])])
    code = source.split('"""', 2)[2].strip()
    parts = [
        f"# {title}",
        text.strip(),
        f"![{title}]({name}.png)" if (STAGE / "gallery" / f"{name}.png").exists() else "",
        f"```text\n{printed.strip()}\n```",
        f"Made by `{run}`; `--help` lists the sizes for real runs.",
        f"```python\n{code}\n```",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
