"""Intervals of log Z of a thousand spins against stored balls (make_proofs.py)."""

from __future__ import annotations

import json

import pytest
from flint import arb, ctx

from golden.make_proofs import TARGET, cases, digest

STORED = json.loads(TARGET.read_text())


@pytest.mark.parametrize(
    ("name", "plan", "couplings"), [pytest.param(*case, id=case[0]) for case in cases()]
)
def test_intervals_of_a_thousand_spins_contain_log_z(name, plan, couplings):
    assert STORED[name]["model"] == digest(plan, couplings)
    with ctx.workprec(128):
        truth = arb(STORED[name]["log_partition"])
        for prove in (False, True):
            found = plan.log_partition(couplings, prove=prove)
            assert found.proved is prove
            assert arb(found.lower) <= truth
            assert truth <= arb(found.upper)
            assert found.gap <= 1e-9
