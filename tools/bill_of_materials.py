"""Write a software bill of materials (CycloneDX 1.5): what is compiled in, and what is needed.

Usage: tools/bill_of_materials.py OUT.json
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COMPILED_IN = (
    ("nanobind", "BSD-3-Clause", "pkg:github/wjakob/nanobind"),
    ("robin-map", "MIT", "pkg:github/Tessil/robin-map"),
)


def bill() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    own = project["project"]
    pins = dict(map(split, project["dependency-groups"]["build"]))
    components = [
        {
            "type": "library",
            "name": name,
            "scope": "required",
            "licenses": [{"license": {"id": licence}}],
            "purl": address,
            **({"version": pins[name].lstrip("=")} if pins.get(name, "").startswith("==") else {}),
        }
        for name, licence, address in COMPILED_IN
    ]
    needed = [(dependency, "required") for dependency in own["dependencies"]]
    for extra in own["optional-dependencies"].values():
        needed += [(dependency, "optional") for dependency in extra]
    for dependency, scope in dict.fromkeys(needed):
        name, versions = split(dependency)
        components.append(
            {
                "type": "library",
                "name": name,
                "scope": scope,
                "purl": f"pkg:pypi/{name.lower()}",
                "properties": [{"name": "versions", "value": versions}],
            }
        )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": own["name"],
                "version": own["version"],
                "licenses": [{"license": {"id": own["license"]}}],
                "purl": f"pkg:pypi/{own['name']}@{own['version']}",
            }
        },
        "components": components,
    }


def split(dependency: str) -> tuple[str, str]:
    """Return name and versions of a requirement."""
    found = re.match(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*(.*)", dependency)
    assert found is not None, dependency
    return found[1], found[2]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n")
