"""A conditional random field that learns to segment.

Masks of random shapes are seen through noise. A planar CRF learns how strongly neighbouring pixels
agree, given how much their grey values differ: exact maximum likelihood by Pfaffians and exact
maximum margin by matchings. Its couplings say which pixels belong together; that two opposite
corners differ is a condition that holds exactly, so no field is needed and all stays planar. With
much noise the most probable state may be trivial unless the training was for that state: margin.
Pixels are counted up to a change of sides. A grid CRF has a field at every pixel too; it is not
planar, but its masks are minimum cuts and just as exact.
"""

from pathlib import Path

import numpy as np
import typer
from matplotlib.colors import ListedColormap

from planaris.generate import noisy_mask, shape_mask
from planaris.learn import GridCRF, PlanarCRF
from planaris.report.pictures import DOWN, UP, new_figure


def main(
    size: int = 40,
    images: int = 4,
    noise: float = 4.0,
    seed: int = 0,
    out: Path = Path("crf_segmentation.png"),
) -> dict[str, float]:
    """Train on IMAGES pictures of SIZE×SIZE pixels and segment one more (NOISE to signal)."""
    rng = np.random.default_rng(seed)
    masks = [shape_mask((size, size), rng, split_corners=True) for _ in range(images + 1)]
    given = [noisy_mask(mask, noise, rng) for mask in masks]
    figure, (row,) = new_figure(1, 5, size=3.0)
    two = ListedColormap([DOWN, UP])
    panels = [("given", given[-1], "gray"), ("truth", masks[-1], two)]
    answers = {}
    for loss in ("likelihood", "margin"):
        crf = PlanarCRF(loss, peg="corners").fit(given[:-1], masks[:-1])
        share = float(crf.score(given[-1:], masks[-1:]))
        print(f"trained by {loss}: {share:.1%} of the pixels right")
        panels.append((f"by {loss}: {share:.1%}", crf.predict(given[-1:])[0], two))
        answers[loss] = share
    grid = GridCRF().fit(given[:-1], masks[:-1])
    answers["grid"] = float(grid.score(given[-1:], masks[-1:]))
    print(f"grid CRF: {answers['grid']:.1%} of the pixels right")
    panels.append((f"grid CRF: {answers['grid']:.1%}", grid.predict(given[-1:])[0], two))
    for axes, (title, image, colours) in zip(row, panels, strict=True):
        axes.imshow(image, cmap=colours, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(out, dpi=100)
    return answers


if __name__ == "__main__":
    typer.run(main)
