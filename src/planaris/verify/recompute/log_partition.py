"""Recomputes log Z of a model: by elimination if it is narrow, on its surface, or by blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from planaris.models import IsingModel, MarkovRandomField
from planaris.result import AsIsing, CutSum, Proof
from planaris.verify.conversions import BareModel, as_spins
from planaris.verify.recompute.blocks import first_found, log_partition_by_blocks
from planaris.verify.recompute.cut_sums import log_partition_by_cuts
from planaris.verify.recompute.determinant import is_warm, log_partition_by_determinant
from planaris.verify.recompute.elimination import Recomputed, recompute

LARGE = 1000
"""Models of more variables are tried on their surface first: they are seldom narrow."""


def log_partition_anew(
    model: IsingModel | MarkovRandomField, certificate: Proof | None = None
) -> list[Recomputed]:
    """Return log Z, computed by what fits: nothing if nothing does.

    Small models whose result says how to sum over cuts are added up in this way too.
    """
    count = len(model.cardinalities if isinstance(model, MarkovRandomField) else model.fields)
    recipe = cut_sum_of(certificate)
    ways: list[Callable[[], Recomputed | None]] = [
        lambda: recompute(model, task="sum"),
        lambda: _as_ising(model, partial(_on_surface, recipe=recipe)),
        lambda: _as_ising(model, partial(log_partition_by_blocks, compute=_of_block)),
    ]
    if count > LARGE:
        ways = [*ways[1:], ways[0]]
    found: list[Recomputed] = []
    for way in ways:
        again = way()
        found += [] if again is None else [again]
        if found and (recipe is None or count > LARGE or len(found) > 1):
            break
    return found


def _of_block(block: IsingModel) -> Recomputed | None:
    ways: list[Callable[[IsingModel], Recomputed | None]] = [
        partial(recompute, task="sum"),
        log_partition_by_determinant,
    ]
    return first_found(ways if block.num_spins <= LARGE else ways[::-1], block)


def _on_surface(model: IsingModel, *, recipe: CutSum | None) -> Recomputed | None:
    if recipe is None:
        return log_partition_by_determinant(model)
    found = None
    if is_warm(BareModel.of(model)):
        found = log_partition_by_determinant(model)
    return log_partition_by_cuts(model, recipe) if found is None else found


def cut_sum_of(certificate: Proof | None) -> CutSum | None:
    """Return the data of a sum over cuts in a certificate, if there is one."""
    if isinstance(certificate, AsIsing):
        certificate = certificate.proof
    if certificate is not None:
        certificate = certificate.as_proof()
    return certificate if isinstance(certificate, CutSum) else None


def _as_ising(
    model: IsingModel | MarkovRandomField, compute: Callable[[IsingModel], Recomputed | None]
) -> Recomputed | None:
    if isinstance(model, IsingModel):
        return compute(model)
    spins = as_spins(model)  # not with more labels, larger factors or hard constraints
    found = None if spins is None else compute(spins.model)
    if found is None or spins is None:
        return None
    return replace(found, slack=found.slack + spins.rounding)
