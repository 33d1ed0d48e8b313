"""Write docs/methods.md from the registry of methods: `make method-table`."""

from __future__ import annotations

from pathlib import Path

from planaris.methods import methods
from planaris.methods.registry import VERBS, Method

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"

HEAD = """# Methods

<!-- Made by `make method-table` from src/planaris/methods. -->

`method=` of the verbs and `--method` of the commands take these names. **exact**: the right answer
up to rounding, or a refusal. **interval**: ends that contain the truth, however far apart.
**estimate**: a value with no proof. `auto` is exact wherever exact methods fit the parts of the
model, and gives intervals or estimates, said to be such, elsewhere. A star marks verbs that take
Markov random fields of any number of labels; the others take Ising models, and Markov random
fields that are Ising models in other words.

| method | ground state | log Z | marginals | samples | what it does |
| --- | --- | --- | --- | --- | --- |
"""


def reference() -> str:
    """Return the text of the page."""
    return HEAD + "".join(_row(method) for method in methods().values())


def _row(method: Method) -> str:
    cells = []
    for verb in VERBS:
        task = method.tasks.get(verb)
        star = "" if task is None or task.takes == "spins" else "*"
        cells.append("" if task is None else task.promise + star)
    return f"| `{method.name}` | {' | '.join(cells)} | {method.purpose} |\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
