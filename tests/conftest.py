from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# One thread for each library of numbers, here and in all processes that tests start: several
# workers on two cores do not fight for them, and sums are rounded the same on every machine.
for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{library}_THREADS"] = "1"

# Workers and the many processes that tests start find modules compiled, whoever was first: it is
# a third of a second for each process, and half of the time that collecting takes.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from helpers.clocks import TickClock
from helpers.trials import choose_all
from planaris.budget import use_clock
from planaris.errors import PlanarisError
from planaris.gpu.device import find_device

# There is no torch for Intel Macs.
collect_ignore = (
    ["unit/gpu", "unit/interop/test_torch.py", "unit/decode/test_on_device.py"]
    if find_spec("torch") is None
    else []
)

threadpool_limits(1)  # those that a plugin has loaded before

unhurried = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", derandomize=True, **unhurried)
settings.register_profile("quick", settings.get_profile("default"), max_examples=40)
settings.register_profile("nightly", max_examples=20_000, **unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs like this, and commands under test would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_configure(config: pytest.Config) -> None:
    every = config.getoption("--slow") or "HYPOTHESIS_PROFILE" in os.environ
    choose_all(every)
    if not every:  # tests that ask for no number of examples make fewer, too
        settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    in_repository = (Path(__file__).parents[1] / "CMakeLists.txt").exists()
    for item in items:
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="slow; run with --slow"))
        if "repository" in item.keywords and not in_repository:
            item.add_marker(pytest.mark.skip(reason="needs the source tree"))
        if item.get_closest_marker("gpu") and (reason := _no_gpu()):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was collected and imported, millions of objects, out of garbage collections."""
    gc.freeze()


@cache
def _no_gpu() -> str:
    """Return why no GPU can be used, or nothing."""
    try:
        find_device("cuda")
    except PlanarisError as error:
        return str(error)
    return ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Say how to repeat the order of a run that failed."""
    seed = getattr(terminalreporter.config.option, "randomly_seed", None)
    if exitstatus and isinstance(seed, int):
        terminalreporter.write_line(f"the order of the tests: --randomly-seed={seed}")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator seeded by the name of the test."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture
def ticking() -> Iterator[TickClock]:
    """A clock on which time passes by looks at it, so that limits strike alike everywhere."""
    with use_clock(TickClock()) as clock:
        yield clock
