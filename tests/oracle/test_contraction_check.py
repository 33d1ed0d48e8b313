"""Checks of proved contractions against ball arithmetic: honest proofs, forged ones, mutants."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from flint import arb, ctx

import planaris as pl
from helpers.grid_models import KINDS, exact_log_partition, normal_grid, random_grid
from planaris.errors import VerificationError
from planaris.kernels.tensor import prove_grid
from planaris.result import Contraction, load_result
from planaris.verify import check_result
from planaris.verify.proofs.tensor_network import boundary_boxes, boundary_rows, contraction
from planaris.verify.proofs.tensor_network.contraction import contraction_interval
from planaris.verify.proofs.tensor_network.rounding import difference, exponentials, gamma

BONDS = (1, 2, 3, 4, 8, 32)
EFFORTS = ([(1, 2)], [(1, 6)], [(2, 6)], [(4, 14)], [(8, 60)])


def proved_grids(count: int, seed: int):
    """Yield random models, proofs, their half-widths and log Z in ball arithmetic."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        rows = int(rng.integers(2, 7))
        columns = int(rng.integers(1, min(rows, 5) + 1))
        arrays = random_grid(KINDS[k % len(KINDS)], rows, columns, rng)
        found = prove_grid(
            *arrays,
            max_bond=int(rng.choice(BONDS)),
            effort=EFFORTS[rng.integers(len(EFFORTS))],
            witness=True,
        )
        if math.isfinite(found.half_width):
            model = pl.IsingModel.from_image(*arrays)
            proof = Contraction(columns, *found.witness)
            yield model, proof, found, exact_log_partition(*arrays)


def holds(interval: tuple[float, float], exact: arb) -> bool:
    low, high = interval
    return not math.isfinite(low) or bool(arb(low) <= exact and exact <= arb(high))


def violated(count: int, seed: int) -> bool:
    """Whether some interval does not hold."""
    return any(
        not holds(contraction_interval(model, proof), exact)
        for model, proof, _, exact in proved_grids(count, seed)
    )


def test_checked_intervals_hold_and_are_as_narrow_as_the_proofs():
    tried = 0
    for model, proof, found, exact in proved_grids(60, 1):
        low, high = contraction_interval(model, proof)
        assert holds((low, high), exact)
        assert high - low <= 2.02 * found.half_width + 1e-14 * abs(low)
        tried += 1
    assert tried > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_checked_intervals_hold_for_hundreds_of_models(seed):
    assert not violated(300, seed)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 6), (7, 4)])
def test_a_saved_result_is_proved_by_its_proof_alone(shape, tmp_path):
    model = normal_grid(shape, np.random.default_rng(6))
    found = pl.log_partition(model, "tensor-network", prove=True)
    found.save(tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    report = check_result(model, again, recompute=False)
    assert report.proved
    assert report.findings[0].status == "proved"
    interval = again.certificate.check(model)
    assert interval.claim == "log Z"
    assert found.lower <= interval.lower <= interval.upper <= found.upper
    assert again.certificate.size == found.certificate.size


def wide_model() -> pl.IsingModel:
    rng = np.random.default_rng(9)
    return pl.IsingModel.from_image(
        rng.uniform(-0.3, 0.3, (6, 5)), rng.uniform(-1, 1, (6, 4)), rng.uniform(-1, 1, (5, 5))
    )


def test_narrower_claims_are_not_proved():
    model = wide_model()
    found = pl.log_partition(model, "tensor-network", prove=True)
    low, high = found.certificate.check(model)[1:]
    inside = replace(found, lower=math.nextafter(low, math.inf), value=0.5 * (low + high))
    assert not check_result(model, inside, recompute=False).proved
    inside = replace(found, upper=math.nextafter(high, -math.inf), value=0.5 * (low + high))
    assert not check_result(model, inside, recompute=False).proved
    for shift in (1e-9, -1e-9, 0.1):
        moved = {name: getattr(found, name) + shift for name in ("lower", "value", "upper")}
        with pytest.raises(VerificationError, match="the proof gives"):
            check_result(model, replace(found, **moved), recompute=False)


def test_a_proof_is_about_its_model():
    model = wide_model()
    proof = pl.log_partition(model, "tensor-network", prove=True).certificate
    couplings = model.couplings.copy()
    couplings[3] += 1e-9
    other = pl.IsingModel(model.edges, couplings, fields=model.fields)
    moved = proof.check(other)
    exact = pl.log_partition(other, "treewidth")
    assert moved.lower <= exact.upper
    assert exact.lower <= moved.upper
    assert moved.lower != proof.check(model).lower
    for broken in (replace(proof, columns=6), replace(proof, columns=0), replace(proof, columns=7)):
        with pytest.raises(VerificationError):
            broken.check(model)
    ring = pl.IsingModel([(k, (k + 1) % 30) for k in range(30)], 0.5)
    with pytest.raises(VerificationError, match="neighbours of the grid"):
        proof.check(ring)


def forged(proof: Contraction, rng: np.random.Generator) -> Contraction:
    """Return a proof with some numbers changed, dropped or exchanged."""
    names = [f.name for f in fields(proof) if f.name != "columns"]
    name = str(rng.choice(names))
    values = np.array(getattr(proof, name))
    if name == "other_way":
        return replace(proof, other_way=1 - proof.other_way)
    if not len(values):
        return replace(proof, refined=np.array([1, 1]))
    kind = rng.integers(5)
    at = int(rng.integers(len(values)))
    if kind == 0:
        values[at] += rng.choice([-2, -1, 1, 2, 100])
    elif kind == 1:
        values = np.delete(values, at)
    elif kind == 2:
        values = rng.permutation(values)
    elif kind == 3:
        values = values[::-1]
    else:
        values[:] = values[at]
    return replace(proof, **{name: values})


def test_forged_proofs_are_refused_or_prove_what_is_true():
    rng = np.random.default_rng(4)
    refused = held = lost = 0
    for model, proof, _, exact in proved_grids(40, 5):
        for _ in range(5):
            try:
                interval = contraction_interval(model, forged(proof, rng))
            except VerificationError:
                refused += 1
                continue
            assert holds(interval, exact)
            held += math.isfinite(interval[0])
            lost += not math.isfinite(interval[0])
    assert refused > 50
    assert held > 20


def test_other_trees_and_bonds_prove_other_intervals():
    """Any bonds, and any tree of words with any hulls, are as good."""
    rng = np.random.default_rng(8)
    finite = 0
    for model, proof, _, exact in proved_grids(40, 6):
        rows = max(proof.columns, model.num_spins // proof.columns)
        columns = model.num_spins // rows
        words, hulls, offsets = [], [], [[0], [0]]
        for _ in range(rows - 1):
            for _ in range(3):
                counts = [1]
                for position in range(1, columns + 1):
                    tree = [1, 1]
                    while len(tree) < 6 and rng.random() < 0.7:
                        k = int(rng.integers(len(tree)))
                        if tree[k] < position:
                            tree[k : k + 1] = [tree[k] + 1] * 2
                    boxes = sum(counts[position - length] for length in tree)
                    cuts = np.sort(rng.choice(boxes + 1, min(3, boxes), replace=False))
                    runs = np.diff(np.unique([0, *cuts, boxes])).tolist()
                    counts.append(len(runs))
                    words += tree
                    hulls += runs
                    offsets[0].append(len(words))
                    offsets[1].append(len(hulls))
        other = Contraction(
            proof.columns,
            rng.integers(1, 9, len(proof.bonds)),
            np.array(words),
            np.array(offsets[0]),
            np.array(hulls),
            np.array(offsets[1]),
            np.zeros(0, dtype=int),
            np.zeros(len(offsets[0]), dtype=int),
        )
        interval = contraction_interval(model, other)
        assert holds(interval, exact)
        finite += math.isfinite(interval[0])
    assert finite > 10


# -- mutants: every part of the bound is needed -------------------------------------------------


def noisy(size: float):
    """Exponentials that are off by a random sign times a relative size."""
    rng = np.random.default_rng(1)

    def compute(*terms):
        found = exponentials(*terms)
        return found * (1 + size * rng.choice([-1, 1], found.shape))

    return compute


@pytest.mark.parametrize(("tau", "right"), [(4.1e-4, True), (1e-4, False)])
def test_errors_of_weights_are_charged(tau, right, monkeypatch):
    monkeypatch.setattr(boundary_rows, "exponentials", noisy(1e-4))
    monkeypatch.setattr(contraction, "TAU", tau)
    assert violated(40 if right else 400, 10) is not right


def turned(size: float):
    """Another compression: matrices T that are off."""
    rng = np.random.default_rng(2)

    def compute(row, bonds):
        boundary_rows_compress(row, bonds)
        for t in row.turned:
            t *= 1 + size * rng.choice([-1, 1], t.shape)

    return compute


boundary_rows_compress = boundary_rows.compress


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.3, False)])
def test_any_matrices_will_do_but_what_they_miss_is_charged(factor, right, monkeypatch):
    def part(*arrays, work):
        gap, charge = difference(*arrays, work=work)
        return factor * gap, charge

    monkeypatch.setattr(contraction, "compress", turned(1e-3))
    monkeypatch.setattr(contraction, "difference", part)
    assert violated(40 if right else 400, 10) is not right


@pytest.mark.parametrize("what", ["tail", "radius", "exponent"])
def test_a_part_left_out_is_noticed(what, monkeypatch):
    if what == "tail":
        plain = contraction._Products.products

        def products(self, centre, radius):
            value, off = plain(self, centre, radius)
            return (0 * value, 0 * off) if self.tail else (value, off)

        def init(self, matrix, centre, radius, make=contraction._Products.__init__):
            make(self, matrix, centre, radius)
            self.tail = not np.allclose(centre[:, :1], 1.0)

        monkeypatch.setattr(contraction._Products, "__init__", init)
        monkeypatch.setattr(contraction._Products, "products", products)
    elif what == "radius":
        hulls = boundary_boxes._hulls

        def narrow(low, high):
            found = hulls(low, high)
            return found._replace(radius=0 * found.radius)

        monkeypatch.setattr(boundary_boxes, "_hulls", narrow)
        monkeypatch.setattr(boundary_boxes._Bounds, "reach", lambda self, part, lam, sign: 0 * lam)
    else:
        monkeypatch.setattr(
            contraction, "logarithm", lambda value, exponent: contraction.Decimal(math.log(value))
        )
    assert violated(400, 10)


def test_a_sum_of_products_keeps_its_bound():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(1, 60))
        a, b = rng.normal(size=(n, 1)), rng.normal(size=n)
        exact = sum(
            (arb(float(x)) * arb(float(y)) for x, y in zip(b, a[:, 0], strict=True)), arb(0)
        )
        size = float(np.abs(b) @ np.abs(a[:, 0]))
        assert abs(float((arb(float((b @ a)[0])) - exact).mid())) <= gamma(n) * size


def test_exponentials_are_rounded_correctly():
    rng = np.random.default_rng(4)
    before, ctx.prec = ctx.prec, 200
    try:
        for x in (*rng.uniform(-290, 290, 300), *rng.uniform(-1, 1, 300), 0.0, 1e-300):
            y = float(rng.normal())
            for value, sign in zip(exponentials([x], [y])[:, 0], (1, -1), strict=True):
                exact = (sign * (arb(float(x)) + arb(y))).exp()
                assert abs(float(((arb(float(value)) - exact) / exact).mid())) <= 1.001 * 2.0**-53
    finally:
        ctx.prec = before
