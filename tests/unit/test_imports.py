"""``import planaris`` takes no time, and optional packages are optional."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import metadata
from pathlib import Path

import pytest

import planaris

OPTIONAL = (
    "matplotlib",
    "dimod",
    "sklearn",
    "PIL",
    "torch",
    "dask",
    "distributed",
    "stim",
    "sinter",
    "pyarrow",
)
HEAVY = ("numpy", "scipy", "networkx", "highspy", "joblib", "threadpoolctl", "typer", "rich")

BLOCK = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # what makes `import name` raise ImportError
"""


def run(code: str) -> str:
    """Run code in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code: str) -> set[str]:
    return set(json.loads(run(f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))")))


def test_importing_planaris_loads_nothing_heavy():
    assert not loaded_after("import planaris").intersection(OPTIONAL + HEAVY)


def test_help_of_commands_loads_nothing_heavy():
    code = """
import io, sys
from planaris.cli.help import print_help
from planaris.cli.main import COMMANDS, make_app
kept, sys.stdout = sys.stdout, io.StringIO()
for name in COMMANDS:
    print_help(make_app([name]), name)
assert "--time-limit" in sys.stdout.getvalue()
sys.stdout = kept
"""
    heavy = {*OPTIONAL, *HEAVY, "planaris.methods"} - {"typer", "rich"}
    assert not loaded_after(code) & heavy


def test_the_verbs_load_nothing_optional():
    code = """
import planaris as pl
model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
pl.ground_state(model), pl.log_partition(model), pl.marginals(model), pl.sample(model, 1)
"""
    loaded = loaded_after(code)
    assert not loaded.intersection((*OPTIONAL, "networkx", "highspy", "typer", "rich"))


def test_every_public_name_is_there_when_asked():
    for name in planaris.__all__:
        assert getattr(planaris, name) is not None
        assert name in dir(planaris)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        planaris.nothing  # noqa: B018
    with pytest.raises(ImportError):
        exec("from planaris import nothing")


def test_completion_offers_what_users_may_use_and_nothing_else():
    code = "import json, planaris; print(json.dumps(dir(planaris)))"
    offered = set(json.loads(run(code)))
    assert {"ground_state", "bounds", "io", "learn", "interop", "__version__"} <= offered
    assert not offered & {"Any", "import_module", "annotations", "_HOME", "_core"}


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(planaris.__file__).with_name("__init__.pyi").read_text())
    named = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(planaris.__all__) <= set(named)
    for name, (module, original) in named.items():
        if module == "planaris":
            assert getattr(planaris, name).__name__ == f"planaris.{original}"
        else:
            assert planaris._HOME[name] == module.removeprefix("planaris.")


def test_every_module_imports_without_the_optional_packages():
    """A module that is about an optional package says which extra installs it."""
    code = f"""{BLOCK}
import pkgutil, planaris
from planaris.errors import MissingExtraError
for module in pkgutil.walk_packages(planaris.__path__, "planaris.", onerror=lambda name: None):
    try:
        __import__(module.name)
    except MissingExtraError as error:
        print(module.name, error.extra)
"""
    extras = set(metadata("planaris").get_all("Provides-Extra"))
    refused = dict(line.split() for line in run(code).splitlines())
    assert refused["planaris.interop.dimod"] == "dimod"
    assert set(refused.values()) <= extras
    about = ("planaris.interop.", "planaris.learn")
    assert all(name.startswith(about) for name in refused), refused


MISSING = {
    "import planaris.interop.dimod": "dimod",
    "planaris.IsingModel([(0, 1)], [1.0]).to_bqm()": "dimod",
    "planaris.io.read_model(b'DIMODBQM', format='bqm')": "dimod",
    "from planaris.report.pictures import new_figure; new_figure()": "plot",
    "from planaris.experiments.reproduce import reproduce as f; f(['pdc'], path)": "plot",
    "from planaris.interop.torch import log_partition as f; f(0, (2, [(0, 1)]))": "torch",
    "from planaris.io.images import read_image; read_image('x.png')": "image",
    "from planaris.interop.stim import Decoder; Decoder('model.dem')": "qec",
    "from planaris.interop.stim import sinter_decoders; sinter_decoders()": "qec",
    "planaris.marginals(planaris.IsingModel([(0, 1)], [1.0]), 'treewidth', device='cpu')": "gpu",
    "planaris.solve_many([planaris.IsingModel([(0, 1)], [1.0])], table='parquet')": "parquet",
    "planaris.solve_many([planaris.IsingModel([(0, 1)], [1.0])], cluster='tcp://127.0.0.1:1')": (
        "distributed"
    ),
}


@cache
def refusals() -> dict[str, list[str]]:
    """Return what each call says where no optional package is installed."""
    code = f"""{BLOCK}
import contextlib, io, json, planaris, planaris.io
from pathlib import Path
from planaris.errors import MissingExtraError
path, said = Path("never-made"), {{}}
for call in {list(MISSING)!r}:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(call)
        except MissingExtraError as error:
            assert isinstance(error, ImportError)
            print(error)
    said[call] = out.getvalue().splitlines()
print(json.dumps(said))
"""
    return json.loads(run(code))


@pytest.mark.parametrize(("call", "extra"), MISSING.items())
def test_a_missing_package_is_one_line_with_its_extra(call, extra):
    said = refusals()[call]
    assert len(said) == 1
    assert re.fullmatch(
        rf"this needs the package '(\S+)' \(extra '{extra}' of planaris\): pip install \1", said[0]
    )


def taken_by(package: str) -> dict[str, set[str]]:
    """Return the names that a package imports from each other module of planaris."""
    taken: dict[str, set[str]] = {}
    for path in (Path(planaris.__file__).parent / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("planaris."):
                taken.setdefault(node.module, set()).update(name.name for name in node.names)
    return {
        name.removeprefix("planaris."): names
        for name, names in taken.items()
        if not name.startswith(f"planaris.{package}")
    }


def test_verify_takes_models_but_none_of_their_conversions():
    """`lint-imports` sees which modules are imported, not which names."""
    taken = taken_by("verify")
    assert taken["models"] == {"IsingModel", "MarkovRandomField"}
    assert set(taken) <= {"models", "result", "errors", "typing", "embed", "matching.tjoins"}


def test_reference_takes_models_results_and_embeddings_alone():
    taken = taken_by("reference")
    assert taken["budget"] == {"UNLIMITED"}
    assert taken["embed.homology"] == {"sign_structures"}
    assert set(taken) <= {
        "models",
        "models.arrays",
        "models.base",
        "result",
        "errors",
        "typing",
        "embed",
        "embed.homology",
        "budget",
    }


def test_verify_uses_no_methods_of_models_that_convert():
    folder = Path(planaris.__file__).parent / "verify"
    text = "".join(path.read_text() for path in folder.rglob("*.py"))
    for method in ("from_ising", "from_binary_energy", "pairwise_view", ".condition(", ".energy("):
        assert method not in text


def test_no_folder_holds_much_more_than_a_dozen_modules():
    folders: dict[Path, int] = {}
    for path in Path(planaris.__file__).parent.rglob("*.py"):
        folders[path.parent] = folders.get(path.parent, -1) + 1  # __init__ is the folder itself
    assert max(folders.values()) <= 13, {str(f): n for f, n in folders.items() if n > 13}
