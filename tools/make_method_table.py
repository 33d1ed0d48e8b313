"""Write docs/methods.md and the names of methods in the help: `make method-table`."""

from __future__ import annotations

from pathlib import Path

from planaris.cli.options import VERB_OF
from planaris.methods import method_names, methods
from planaris.methods.registry import VERBS, Method

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "methods.md"
NAMES = ROOT / "src" / "planaris" / "cli" / "method_names.py"

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


NAMES_HEAD = '''"""Names of the methods of each command; help and completion import no solver.

Made by ``make method-table`` from :mod:`planaris.methods`.
"""

METHOD_NAMES = {
'''


def names_module() -> str:
    """Return the text of the module with the names that ``--method`` of each command takes."""
    text = NAMES_HEAD
    for command, verb in VERB_OF.items():
        names = "".join(f'        "{name}",\n' for name in method_names(verb))
        text += f'    "{command}": (\n{names}    ),\n'
    return text + "}\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
    NAMES.write_text(names_module())
