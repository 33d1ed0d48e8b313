"""Small Ising grids, ordinary and adversarial, and their log Z in ball arithmetic."""

from __future__ import annotations

import numpy as np
from flint import arb, ctx

from planaris import IsingModel

KINDS = (
    "uniform",
    "one strong",
    "zeros",
    "frustrated",
    "strong fields",
    "no fields",
    "balanced",
    "anisotropic",
    "tiny",
    "strong rows",
)


def normal_grid(shape: tuple[int, int], rng: np.random.Generator) -> IsingModel:
    """Return a grid with fields and couplings drawn from N(0, 1)."""
    rows, columns = shape
    sizes = (rows, columns), (rows, columns - 1), (rows - 1, columns)
    return IsingModel.from_image(*(rng.normal(size=size) for size in sizes))


def random_grid(kind: str, rows: int, columns: int, rng: np.random.Generator):
    """Fields (rows × columns), couplings to the right and down."""
    size = rng.choice([0.1, 0.5, 1.0, 2.0, 4.0])
    down = rng.uniform(-size, size, (rows - 1, columns))
    right = rng.uniform(-size, size, (rows, columns - 1))
    fields = rng.uniform(-1, 1, (rows, columns)) * rng.choice([0.01, 0.3, 1.0])
    if kind == "one strong":
        array = [x for x in (down, right, fields) if x.size][rng.integers(0, 3) % 2]
        array.flat[rng.integers(array.size)] = rng.choice([-1, 1]) * rng.choice([20.0, 60.0])
    elif kind == "zeros":
        for array in (down, right, fields):
            array[rng.random(array.shape) < 0.5] = 0.0
    elif kind == "frustrated":
        down, right = size * np.sign(down), size * np.sign(right)
        fields = 0 * fields
    elif kind == "strong fields":
        fields = fields * 30
    elif kind == "no fields":
        fields = 0 * fields
    elif kind == "balanced":
        down, right = np.abs(down), np.abs(right)
        fields = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0) * np.abs(fields)
    elif kind == "anisotropic":
        right = right * 5
        down = down / 5
    elif kind == "tiny":
        down, right, fields = down * 1e-6, right * 1e-6, fields * 1e-6
    elif kind == "strong rows":
        right = 8 * np.sign(right)
    return np.ascontiguousarray(fields), np.ascontiguousarray(right), np.ascontiguousarray(down)


def exact_log_partition(fields, right, down, precision: int = 200) -> arb:
    """log Z by the transfer matrix, spin by spin, in ball arithmetic."""
    before, ctx.prec = ctx.prec, precision
    try:
        rows, columns = fields.shape
        states = {(): arb(1)}
        for r in range(rows):
            for c in range(columns):
                weights = [(arb(float(fields[r, c])) * s).exp() for s in (1, -1)]
                above = arb(float(down[r - 1, c])).exp() if r else None
                beside = arb(float(right[r, c - 1])).exp() if c else None
                new: dict[tuple[int, ...], arb] = {}
                for spins, value in states.items():
                    for k, s in enumerate((1, -1)):
                        x = value * weights[k]
                        if above is not None:
                            x = x * above if spins[c] == s else x / above
                        if beside is not None:
                            x = x * beside if spins[c - 1] == s else x / beside
                        key = (*spins[:c], s, *spins[c + 1 :])
                        new[key] = new[key] + x if key in new else x
                states = new
        return sum(states.values(), arb(0)).log()
    finally:
        ctx.prec = before


def distance(value: float, exact: arb) -> float:
    """|value - exact|, its middle."""
    before, ctx.prec = ctx.prec, 200
    try:
        return abs(float((arb(value) - exact).mid()))
    finally:
        ctx.prec = before


def exact_probabilities(fields, right, down) -> tuple[list[arb], list[arb], list[arb]]:
    """P(s = +1) of some spins and P(s = t) of some edges, in ball arithmetic.

    Of the first, a middle and the last of each kind, by sums of weights with other parameters: a
    field or coupling moved by δ changes Z to Z (p e^δ + (1 - p) e^-δ).
    """
    found = []
    before, ctx.prec = ctx.prec, 300
    try:
        whole = exact_log_partition(fields, right, down, 300)
        for kind in range(3):
            parts = []
            for at in places((fields, right, down)[kind]):
                moved = [fields.copy(), right.copy(), down.copy()]
                moved[kind].flat[at] += 1.0
                step = arb(float(moved[kind].flat[at])) - arb(
                    float((fields, right, down)[kind].flat[at])
                )
                ratio = (exact_log_partition(*moved, 300) - whole).exp()
                parts.append((ratio - (-step).exp()) / (step.exp() - (-step).exp()))
            found.append(parts)
    finally:
        ctx.prec = before
    return tuple(found)


def places(array) -> list[int]:
    return sorted({0, array.size // 2, array.size - 1}) if array.size else []
