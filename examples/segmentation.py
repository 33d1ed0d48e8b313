"""Segmentation of a noisy image.

Every pixel has a field (which label its grey value speaks for) and neighbours are coupled, less
across an edge of the image. With attractive couplings the most probable segmentation is a minimum
cut, at any size. The certainty of each pixel is a marginal, which a tensor network gives to many
digits.
"""

from pathlib import Path

import numpy as np
import typer
from matplotlib.colors import ListedColormap

import planaris as pl
from planaris.report.pictures import DOWN, UP, new_figure


def main(
    height: int = 40, width: int = 60, seed: int = 0, out: Path = Path("segmentation.png")
) -> dict[str, float]:
    """Segment an image of HEIGHT×WIDTH pixels."""
    rng = np.random.default_rng(seed)
    clean, _ = pl.generate.noisy_image((height, width), rng)
    grey = clean + rng.normal(0, 1.2, clean.shape)
    # P(grey | label) is normal, so the field is 2 · grey / (2 σ²).
    fields = grey / 1.2**2
    right = 0.9 * np.exp(-0.15 * np.abs(np.diff(grey, axis=1)))
    down = 0.9 * np.exp(-0.15 * np.abs(np.diff(grey, axis=0)))
    model = pl.IsingModel.from_image(fields, right, down)
    state = pl.ground_state(model, "graph-cut")
    labels = state.spins.reshape(clean.shape)
    sure = pl.marginals(model, "tensor-network").nodes.reshape(clean.shape)
    by_marginals = np.where(sure > 0.5, 1, -1)
    wrong = {
        "threshold": float((np.sign(grey) != clean).mean()),
        "map": float((labels != clean).mean()),
        "marginals": float((by_marginals != clean).mean()),
    }
    for name, share in wrong.items():
        print(f"wrong pixels by {name}: {share:.1%}")
    figure, grid = new_figure(2, 2, size=3.5)
    figure.set_figheight(7.4 * height / width)
    two = ListedColormap([DOWN, UP])
    for axes, image, title, colours in (
        (grid[0][0], grey, "given", "gray"),
        (grid[0][1], clean, "truth", two),
        (grid[1][0], labels, f"most probable ({state.method})", two),
        (grid[1][1], sure, "probability of the light label", "viridis"),
    ):
        axes.imshow(image, cmap=colours, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(out, dpi=100)
    return {**wrong, "exact": float(state.exact)}


if __name__ == "__main__":
    typer.run(main)
