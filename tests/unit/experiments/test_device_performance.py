from __future__ import annotations

import pytest

import planaris as pl
from planaris.experiments import device_performance
from planaris.experiments.device_performance import measure_widths, render_widths


def test_widths_are_measured_and_refusals_said(monkeypatch):
    monkeypatch.setattr(device_performance, "CORES", (1,))
    rows = list(measure_widths("cpu", widths=(3, 4)))
    assert [(row.task, row.size) for row in rows] == [
        (task, size) for task in ("log Z", "marginals", "ground state") for size in (3, 4)
    ]
    assert all(row.cores.keys() == {1} and not row.refused for row in rows)
    monkeypatch.setattr("planaris.treewidth.on_device.free_bytes", lambda device: 100)
    rows = list(measure_widths("cpu", widths=(4,)))
    assert all("needs" in row.refused for row in rows)
    assert "refused: elimination needs" in render_widths(rows)


def test_bytes_of_fronts_cover_what_is_multiplied():
    lattices = [pl.plan(pl.generate.square_lattice(size)) for size in (5, 10, 20)]
    moved = [device_performance._front_bytes(lattice) for lattice in lattices]
    assert moved[0] > 8 * lattices[0].num_edges
    assert 4 * moved[0] < moved[1] < moved[2] / 4


@pytest.mark.gpu
def test_batches_are_measured(monkeypatch):
    monkeypatch.setattr(device_performance, "BATCHES", {5: 64})
    rows = list(device_performance.measure_device_batches("cuda"))
    assert [row.task for row in rows] == ["log Z", "marginals"]
    assert all(row.apart < 1e-10 for row in rows)
