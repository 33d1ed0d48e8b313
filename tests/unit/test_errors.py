"""Attributes of errors that pages read are declared, so that type checkers know them."""

import pytest

import planaris as pl
from planaris.decode.decoder import PlanarDecoder
from planaris.decode.model import ErrorModel, Mechanism
from planaris.errors import NotPlanarError

PAIRS = [(u, v) for v in range(5) for u in range(v)]


def refuse_a_graph() -> None:
    pl.plan((5, PAIRS))


def refuse_a_code() -> None:
    PlanarDecoder(ErrorModel(tuple(Mechanism(0.1, pair, ()) for pair in PAIRS), 5, 0))


def refuse_a_bqm() -> None:
    import dimod

    from planaris.interop.dimod import PlanarSampler

    PlanarSampler().sample(dimod.BinaryQuadraticModel({}, dict.fromkeys(PAIRS, 1.0), 0.0, "SPIN"))


@pytest.mark.parametrize("refuse", [refuse_a_graph, refuse_a_code, refuse_a_bqm])
def test_evidence_is_declared(refuse):
    with pytest.raises(NotPlanarError) as caught:
        refuse()
    assert caught.value.kind == "K5"
    assert set(caught.value.evidence) <= set(NotPlanarError.__annotations__)
