"""A convolutional front end, trained through an exact planar Ising model.

A small network turns a noisy image into a coupling for every pair of neighbouring pixels. The loss
is the exact negative log likelihood of the true mask: log Z by Pfaffians, its gradient, the
correlation of every edge, handed to torch by `planaris.interop.torch`.
"""

from pathlib import Path

import numpy as np
import torch
import typer
from matplotlib.colors import ListedColormap

import planaris as pl
from planaris.interop.torch import log_partition
from planaris.report.pictures import DOWN, UP, new_figure

SIZE, IMAGES, NOISE = 16, 6, 1.5


def make_data(rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return noisy images (k, 1, SIZE, SIZE) and their masks as spins (k, SIZE²)."""
    masks = [pl.generate.shape_mask((SIZE, SIZE), rng) for _ in range(IMAGES)]
    images = [pl.generate.noisy_mask(mask, NOISE, rng) for mask in masks]
    spins = np.where(np.stack(masks), 1.0, -1.0).reshape(IMAGES, -1)
    return torch.tensor(np.stack(images))[:, None], torch.tensor(spins)


class FrontEnd(torch.nn.Module):
    """Filters, their size, and a mix of it: a boundary looks the same from both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = torch.nn.Conv2d(1, 8, 3, padding=1, padding_mode="replicate", bias=False)
        self.mix = torch.nn.Conv2d(8, 2, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return couplings to the right and down, for every pixel."""
        couplings: torch.Tensor = self.mix(self.filters(images).abs())
        return couplings


def couplings_of(network: torch.nn.Module, images: torch.Tensor) -> torch.Tensor:
    """Return couplings (k, m): edges to the right, row by row, then edges down."""
    right, down = network(images).unbind(1)
    return torch.cat([right[:, :, :-1].flatten(1), down[:, :-1].flatten(1)], dim=1)


def most_probable(lattice: pl.generate.Lattice, couplings: torch.Tensor) -> np.ndarray:
    """Return a ground state for each row of couplings."""
    models = (
        pl.IsingModel(lattice.edges, row, positions=lattice.positions)
        for row in couplings.detach().numpy()
    )
    return np.stack([pl.ground_state(model).spins for model in models])


def pixel_error(found: np.ndarray, spins: torch.Tensor) -> float:
    """Return the share of wrong pixels, each image up to a global flip."""
    wrong = (found != spins.numpy()).mean(axis=1)
    return float(np.minimum(wrong, 1 - wrong).mean())


def main(
    steps: int = 40, seed: int = 0, out: Path = Path("torch_front_end.png")
) -> dict[str, float]:
    """Train for STEPS steps on fresh images; test on unseen ones."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    lattice = pl.generate.square_lattice(SIZE)
    plan = pl.plan((lattice.num_vertices, lattice.edges), positions=lattice.positions)
    network = FrontEnd().double()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    u, v = lattice.edges.T
    images, spins = make_data(rng)
    before = pixel_error(most_probable(lattice, couplings_of(network, images)), spins)
    losses = []
    for _ in range(steps):
        fresh, wanted = make_data(rng)
        couplings = couplings_of(network, fresh)
        energy = -(couplings * wanted[:, u] * wanted[:, v]).sum(1)
        loss = (energy + log_partition(couplings, plan)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found = most_probable(lattice, couplings_of(network, images))
    after = pixel_error(found, spins)
    print(f"-log P(mask): {losses[0]:.1f} before, {losses[-1]:.1f} after {steps} steps")
    print(f"wrong pixels in unseen images: {before:.1%} before, {after:.1%} after")
    figure, (row,) = new_figure(1, 4, size=3.0)
    two = ListedColormap([DOWN, UP])
    for axes, image, title, colours in (
        (row[0], images[0, 0].numpy(), "given", "gray"),
        (row[1], spins[0].numpy().reshape(SIZE, SIZE), "truth", two),
        (row[2], found[0].reshape(SIZE, SIZE) * found[0, 0] * int(spins[0, 0]), "found", two),
    ):
        axes.imshow(image, cmap=colours, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    row[3].plot(losses)
    row[3].set(xlabel="step", title="-log P(mask)")
    figure.savefig(out, dpi=100)
    return {"before": before, "after": after, "loss": losses[-1]}


if __name__ == "__main__":
    typer.run(main)
