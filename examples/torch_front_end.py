"""Train a convolutional front end through an exact planar Ising model.

A small network turns a noisy image into a coupling for every pair of neighbouring pixels; the
loss is the exact negative log likelihood of the true mask, whose gradient planaris hands to torch.

    python examples/torch_front_end.py
"""

from __future__ import annotations

import numpy as np
import torch

import planaris as pl
from planaris.interop.torch import log_partition

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


def pixel_error(
    lattice: pl.generate.Lattice, couplings: torch.Tensor, spins: torch.Tensor
) -> float:
    """Return the share of pixels that the most probable states have wrong, up to a flip."""
    wrong = []
    for J, wanted in zip(couplings.detach().numpy(), spins.numpy(), strict=True):
        found = pl.ground_state(pl.IsingModel(lattice.edges, J, positions=lattice.positions)).spins
        share = float(np.mean(found != wanted))
        wrong.append(min(share, 1 - share))
    return float(np.mean(wrong))


def main(steps: int = 40) -> tuple[float, float]:
    """Train, and return the pixel error on unseen images before and after."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    lattice = pl.generate.square_lattice(SIZE)
    plan = pl.plan((lattice.num_vertices, lattice.edges), positions=lattice.positions)
    unseen = make_data(rng)
    network = FrontEnd().double()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    u, v = lattice.edges.T
    before = pixel_error(lattice, couplings_of(network, unseen[0]), unseen[1])
    for step in range(steps):
        images, spins = make_data(rng)
        couplings = couplings_of(network, images)
        energy = -(couplings * spins[:, u] * spins[:, v]).sum(1)
        loss = (energy + log_partition(couplings, plan)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3}: -log P(mask) = {loss.item():8.2f}")
    after = pixel_error(lattice, couplings_of(network, unseen[0]), unseen[1])
    print(f"wrong pixels in unseen images: {before:.1%} before, {after:.1%} after")
    return before, after


if __name__ == "__main__":
    main()
