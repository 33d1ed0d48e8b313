"""``pl.plot`` draws everything the verbs return, and says what it cannot draw."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import planaris as pl
from planaris.errors import ModelError
from planaris.report.pictures import BROKEN, DOWN, EDGE, WALL, new_figure
from planaris.result import Marginals


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
        assert axes.has_data(), name


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


def test_names_of_small_models_are_written():
    named = pl.IsingModel.from_couplings({("Paris", "Lyon"): 1.0, ("Lyon", "Nice"): -1.0})
    for result in (None, pl.ground_state(named), pl.marginals(named)):
        words = [text.get_text() for text in pl.plot(named, result).texts]
        assert words == ["Paris", "Lyon", "Nice"]
    labels = pl.MarkovRandomField([2, 2], [((0, 1), np.eye(2) + 1)], labels=["a", "b"])
    assert [text.get_text() for text in pl.plot(labels).texts] == ["a", "b"]
    assert not pl.plot(pl.generate.spin_glass(3, 1)).texts


def test_sweeps_say_what_is_not_known():
    dense = pl.IsingModel([(u, v) for u in range(6) for v in range(u)], 1.0)
    energy, _, heat = pl.plot(None, pl.thermodynamics(dense, [0.5, 1.0], "mean-field"))
    assert energy.get_title() == "energy (0 of 2 exact)"
    assert [text.get_text() for text in heat.texts] == ["not known"]


def test_large_lattices_are_images():
    glass = pl.generate.spin_glass(70, 1)
    axes = pl.plot(glass, np.ones(glass.num_spins, dtype=np.int8))
    assert len(axes.images) == 1


def test_marginals_of_large_images_are_images():
    fields = np.random.default_rng(0).normal(size=(70, 70))
    model = pl.IsingModel.from_image(fields, 0.1, 0.1)
    nodes = np.linspace(0, 1, 4900)
    found = Marginals(method="by hand", nodes=nodes, edges=np.zeros(model.num_edges))
    (image,) = pl.plot(model, found).images
    np.testing.assert_array_equal(image.get_array().ravel(), nodes)


def lines_of(axes, colour):
    """Return the segments of one colour, rounded, as a set of pairs of points."""
    found = set()
    for lines in axes.collections:
        if isinstance(lines, LineCollection) and to_hex(lines.get_colors()[0]) == colour:
            for segment in lines.get_segments():
                found.add(tuple(map(tuple, np.round(segment, 2).tolist())))
    return found


def test_edges_around_a_torus_are_stubs():
    """A line across the picture would cover the edges of its row."""
    torus = pl.IsingModel(pl.embed.torus_lattice(4, 5).edges, 1.0)
    for axes in (pl.plot(torus), pl.plot(torus, pl.ground_state(torus))):
        lengths = [
            float(np.linalg.norm(np.subtract(*segment)))
            for lines in axes.collections
            if isinstance(lines, LineCollection)
            for segment in lines.get_segments()
        ]
        assert max(lengths) == 1.0
        assert len(lengths) == 40 + 9  # nine edges of forty have two stubs


@pytest.mark.parametrize("zero", [False, True])
def test_unsatisfied_edges_of_a_markov_random_field_are_its_own(zero):
    """Each factor says for itself which labels it likes less."""
    differ = np.array([[0.0 if zero else 1.0, 3.0], [2.0, 0.0 if zero else 1.0]])
    alike = np.array([[5.0, 1.0], [1.0, 4.0]])
    mrf = pl.MarkovRandomField([2] * 4, [((0, 1), differ), ((1, 2), alike), ((2, 3), differ)])
    axes = pl.plot(mrf, np.array([0, 1, 0, 1]))
    drawn = {to_hex(c.get_colors()[0]): len(c.get_segments()) for c in axes.collections[:2]}
    assert drawn == {EDGE: 2, BROKEN: 1}  # (1, 2) differ, and should not


def test_fields_of_a_markov_random_field_are_drawn():
    """The same model, as spins and as factors, is the same picture."""
    rng = np.random.default_rng(0)
    model = pl.IsingModel([(0, 1), (1, 2)], rng.normal(size=2), rng.normal(size=3))
    fields = [
        pl.plot(one).collections[-1].get_array()
        for one in (model, pl.MarkovRandomField.from_ising(model))
    ]
    np.testing.assert_allclose(fields[0], fields[1], atol=1e-12)


def test_files_of_lattices_are_drawn_as_lattices(tmp_path):
    glass = pl.generate.spin_glass((3, 5), 1)
    pl.io.write_model(glass, tmp_path / "glass.uai")
    drawn = pl.plot(pl.io.read_model(tmp_path / "glass.uai")).collections[-1].get_offsets()
    np.testing.assert_allclose(drawn, glass.positions)


def test_rigid_and_loose_edges_have_their_colours():
    square = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)], [1, 1, 1, -1.0, 2])
    found = pl.rigid_edges(square)
    assert found.loose.any()
    assert found.rigid.any()
    axes = pl.plot(square, found)
    assert len(lines_of(axes, DOWN)) == found.rigid.sum()
    assert len(lines_of(axes, WALL)) == found.loose.sum()


def test_a_closing_interval_is_drawn_over_time():
    dense = pl.IsingModel([(u, v) for u in range(8) for v in range(u)], 0.3)
    result = pl.ground_state(pl.generate.side_chain_model(12, 1), "cycle-lp")
    axes = pl.plot(None, result, what="gap")
    assert axes.get_title() in ("energy, exact",) or "width" in axes.get_title()
    assert pl.plot(None, pl.log_partition(dense, "trw")).get_xlabel() == "log Z"


def test_what_cannot_be_drawn_is_said():
    glass = pl.generate.spin_glass(3, 1)
    with pytest.raises(ModelError, match="what a verb returned"):
        pl.plot(glass, "a state")
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
