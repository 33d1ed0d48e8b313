"""The stored spin glasses: models with log Z known to 30 digits.

>>> glass = GLASSES[0]
>>> glass.name, round(glass.log_partition[1], 6), glass.model(beta=1).num_edges
('gaussian-10-0', 133.384633, 180)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from golden.make_glasses import TARGET, as_image, glass_couplings
from planaris import IsingModel


@dataclass(frozen=True, eq=False)
class Glass:
    """An L × L glass; see golden/make_glasses.py for its recipe."""

    size: int
    kind: str
    seed: int
    energy: float
    num_ground_states: int | None
    log_partition: dict[int, float]
    """By beta, rounded to double; the enclosures are in golden/glasses.json."""

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.size}-{self.seed}"

    def image(self, beta: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        couplings = glass_couplings(self.size, self.kind, self.seed)
        return as_image(self.size, beta * couplings)

    def model(self, beta: float = 1.0) -> IsingModel:
        return IsingModel.from_image(*self.image(beta))


def _read(path: Path) -> list[Glass]:
    glasses = []
    for entry in json.loads(path.read_text())["glasses"]:
        values = {
            int(beta): float(ball.strip("[]").split(" +/- ")[0])
            for beta, ball in entry.pop("log_partition").items()
        }
        entry.setdefault("num_ground_states", None)
        glasses.append(Glass(**entry, log_partition=values))
    return glasses


GLASSES = _read(TARGET)
