"""``pl.plot`` draws everything the verbs return, and says what it cannot draw."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.errors import ModelError
from planaris.report.pictures import new_figure


def results(model: pl.IsingModel) -> dict[str, object]:
    return {
        "nothing": None,
        "state": pl.ground_state(model),
        "spins": pl.sample(model, 1, 0)[0],
        "labels": (pl.sample(model, 1, 0)[0] + 1) // 2,
        "samples": pl.sample(model, 3, 0),
        "marginals": pl.marginals(model),
        "log Z": pl.log_partition(model),
        "bound": pl.log_partition(model, "trw"),
        "sweep": pl.thermodynamics(model, [0.0, 0.5, 1.0]),
    }


@pytest.mark.parametrize(
    "model",
    [
        pl.generate.spin_glass(4, 1, disorder="bimodal"),
        pl.generate.spin_glass(pl.generate.torus(4), 1),
        pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, -1.0, 0.0], [0.5, 0.0, 0.0]),
        pl.IsingModel([(u, v) for u in range(6) for v in range(u)], 1.0),
        pl.IsingModel([], [], [1.0]),
    ],
    ids=["plane", "torus", "no positions", "not planar", "one spin"],
)
def test_everything_is_drawn(model, tmp_path):
    for name, result in results(model).items():
        axes = np.atleast_1d(pl.plot(model, result)).ravel()[0]
        axes.figure.savefig(tmp_path / f"{name}.png", dpi=30)


def test_axes_are_taken_and_returned():
    figure, axes = new_figure(1, 3)
    glass = pl.generate.spin_glass(4, 1)
    assert pl.plot(glass, axes=axes[0, 0]) is axes[0, 0]
    assert list(pl.plot(None, pl.thermodynamics(glass, [1.0, 2.0]), axes[0])) == list(axes[0])
    assert [place.get_title() for place in axes[0]] == ["energy", "entropy", "specific heat"]
    wall = pl.domain_wall(pl.generate.spin_glass(pl.generate.cylinder(4, 5), 1), (4, 5))
    drawn = pl.plot(pl.generate.spin_glass(pl.generate.cylinder(4, 5), 1), wall, axes[0, 1])
    assert drawn is axes[0, 1]
    assert figure.axes


def test_large_lattices_are_images():
    glass = pl.generate.spin_glass(70, 1)
    axes = pl.plot(glass, np.ones(glass.num_spins, dtype=np.int8))
    assert len(axes.images) == 1


def test_what_cannot_be_drawn_is_said():
    glass = pl.generate.spin_glass(3, 1)
    with pytest.raises(ModelError, match="spins"):
        pl.plot(glass, np.ones(4))
    with pytest.raises(ModelError, match="what"):
        pl.plot(glass, what="x")
    with pytest.raises(ModelError, match="model"):
        pl.plot("a model")
    with pytest.raises(ModelError, match="two labels"):
        pl.plot(pl.MarkovRandomField([3], []))
    with pytest.raises(ModelError, match="interval"):
        pl.plot(glass, pl.marginals(glass), what="gap")
