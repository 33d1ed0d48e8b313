"""Results of the Ising model that a field of two labels is, lifted back."""

from decimal import Context, Decimal
from itertools import product

import numpy as np
import pytest

from planaris.models import IsingModel, MarkovRandomField
from planaris.models.convert import IsingForm
from planaris.result import Marginals

DIGITS = Context(prec=60)


def shares(model: IsingModel | MarkovRandomField) -> list[Decimal]:
    """P(label 1), or of spin +1, of every variable, to 50 digits."""
    n = model.num_spins if isinstance(model, IsingModel) else model.num_variables
    sums, total = [Decimal(0)] * n, Decimal(0)
    for labels in product((0, 1), repeat=n):
        if isinstance(model, IsingModel):
            s = [2 * x - 1 for x in labels]
            ends = model.edges.tolist()
            terms = [
                Decimal(c) * (s[u] * s[v])
                for (u, v), c in zip(ends, model.couplings.tolist(), strict=True)
            ]
            terms += [Decimal(h) * x for h, x in zip(model.fields.tolist(), s, strict=True)]
        else:
            terms = [
                Decimal(float(model.log_table(k)[tuple(labels[v] for v in model.scope(k))]))
                for k in range(model.num_factors)
            ]
        energy = Decimal(0)
        for term in terms:
            energy = DIGITS.add(energy, term)
        weight = DIGITS.exp(energy)
        total = DIGITS.add(total, weight)
        sums = [DIGITS.add(a, weight * x) for a, x in zip(sums, labels, strict=True)]
    return [DIGITS.divide(a, total) for a in sums]


@pytest.mark.parametrize("seed", range(10))
def test_ends_hold_although_couplings_are_rounded(seed):
    """Ends as narrow as doubles allow, of a model whose couplings are sums of large numbers."""
    rng = np.random.default_rng(seed)
    large = 1e4 * rng.normal(size=(3, 1, 1))
    tables = [
        ((u, v), shift + rng.normal(size=(2, 2)))
        for shift, (u, v) in zip(large, ((0, 1), (1, 2), (0, 2)), strict=True)
    ]
    mrf = MarkovRandomField([2, 2, 2], tables, log=True)
    form = IsingForm.apply(mrf)
    middle = np.array([float(p) for p in shares(form.model)])
    ends = Marginals(
        nodes=middle,
        edges=np.full(form.model.num_edges, 0.5),
        method="enclosed",
        nodes_lower=np.nextafter(middle, 0.0),
        nodes_upper=np.nextafter(middle, 1.0),
    )
    lifted = form.lift(ends)
    for v, truth in enumerate(shares(mrf)):
        for label, p in enumerate((1 - truth, truth)):
            assert Decimal(float(lifted.nodes_lower[v][label])) <= p
            assert p <= Decimal(float(lifted.nodes_upper[v][label]))
