"""The sections of the self-test find nothing, and would find something."""

from __future__ import annotations

import io
import math
import os
import subprocess
from collections import Counter
from functools import partial

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from planaris.cli.commands import selftest as command
from planaris.cli.main import make_app
from planaris.selftest import sections
from planaris.selftest.interruptions import concurrency, faults, interrupts
from planaris.selftest.sections import Section
from planaris.selftest.tampering import hostile
from planaris.selftest.tampering.readers import Reader, make_readers


def quiet(share: float) -> None:
    assert 0.0 <= share <= 1.0


def test_threads_share_a_plan():
    assert list(concurrency.compare_threads(5)) == [None] * 15


def test_workers_give_the_same_bits():
    found = list(concurrency.compare_workers(range(6)))
    assert found == [None] * len(found)


def test_a_difference_is_noticed(monkeypatch):
    calls = iter(range(100))
    monkeypatch.setattr(concurrency, "_evaluate", lambda *_: next(calls))
    assert any(concurrency.compare_threads(1))


def test_writers_killed_lose_nothing():
    assert list(faults.kill_writers(3, seed=5)) == [None] * 3


def test_a_lost_record_is_noticed(monkeypatch):
    monkeypatch.setattr(faults, "_truncate", lambda path, count: path.write_bytes(b""))
    monkeypatch.setattr(faults, "_run_until_killed", lambda folder, pair, delay: [3, 3])
    assert faults._missing(faults.toy(), {}, [0, 1], [1, 2]) == "3 of 3 records were lost"


def test_a_reader_that_fails_is_noticed(monkeypatch):
    def broken(text):
        raise KeyError(text)

    monkeypatch.setattr(hostile, "make_readers", lambda _: [Reader("toy", broken, (b"1 2 3",))])
    assert all("KeyError" in str(fault) for fault in hostile.read_damaged(3))


def test_a_reader_that_takes_too_much_is_noticed():
    greedy = Reader("greedy", lambda data: np.empty(2**28), (b"",))
    assert "MemoryError" in str(hostile.try_reader(greedy, b""))
    assert len(np.empty(2**25)) == 2**25  # the limit is gone
    slow = Reader("slow", lambda data: sum(range(10**5)), (b"",))
    assert "took" in str(hostile.try_reader(slow, b"", max_seconds=0.0))


def test_work_that_goes_on_after_a_signal_is_noticed(monkeypatch):
    def late(*args, **options):
        raise subprocess.TimeoutExpired("python", 300, stderr=b"busy\nException ignored")

    monkeypatch.setattr(interrupts.subprocess, "run", late)
    assert "300 s after a signal at 0.5 s ['Exception ignored']" in str(
        interrupts.in_a_process("bounds", 0.5)
    )


def test_killed_runs_are_counted(monkeypatch):
    monkeypatch.setattr(
        "planaris.selftest.interruptions.kills.kill_runs", lambda *_: iter([None, "lost", None])
    )
    section = sections.killed_runs(2, 0, tell=quiet)
    assert (section.tried, section.faults) == (3, ["kills: lost"])


def test_sections_count(monkeypatch):
    monkeypatch.setattr(hostile, "MAX_SECONDS", math.inf)
    section = sections.readers(100, 0, jobs=1, tell=quiet)
    assert section.tried == 100
    assert not section.faults
    monkeypatch.setattr(
        "planaris.selftest.tampering.corruption.corrupt_kind", lambda *_, seed: iter(["no"])
    )
    assert sections.corrupted(1, jobs=1, tell=quiet).faults


def found_of(label: str, count: int) -> list[str | None]:
    return [None if k % 3 else f"{label} {k}" for k in range(count)]


def test_workers_change_nothing_in_what_is_tried():
    tasks = [(label, partial(found_of, label, k)) for k, label in enumerate("abcdefg")]
    found = []
    for jobs in (1, 2):
        section, shares = Section("toy", "it holds"), []
        sections._spread(section, lambda _: tasks, 0.0, jobs, shares.append)
        assert shares == pytest.approx(np.arange(1, 8) / 7)
        found.append((section.tried, section.faults, section.details))
    assert found[0] == found[1]
    assert found[0][:2] == (21, [f"{t[0]}: {f}" for t in tasks for f in t[1]() if f])


def test_rounds_go_on_while_there_is_time_and_something_to_try():
    def make_round(k):
        return [(f"round {k}", partial(found_of, "x", 2))] * 3 if k < 4 else []

    for seconds, rounds in ((0.0, 1), (math.inf, 4)):
        section = Section("toy", "it holds")
        sections._spread(section, make_round, seconds, 1, quiet)
        assert section.details == {f"round {k}": 6 for k in range(rounds)}


@pytest.fixture
def seen(monkeypatch):
    """What a toy reader, the only one there is, was given."""
    found = []
    toy = Reader("toy", found.append, (b"1 2 3 4 5 6 7 8 9",))
    monkeypatch.setattr(hostile, "MAX_SECONDS", math.inf)
    monkeypatch.setattr(hostile, "make_readers", lambda _: [toy])
    return found


def test_rounds_of_files_differ(monkeypatch, seen):
    monkeypatch.setattr(sections, "FILES_PER_TASK", 2)

    def two_rounds(section, make_round, *_):
        for _, task in [*make_round(0), *make_round(1)]:
            list(task())

    monkeypatch.setattr(sections, "_spread", two_rounds)
    sections.readers(5, 5, jobs=1, tell=quiet)
    assert len(seen) == 10
    assert not set(seen[:5]) & set(seen[5:])


def test_files_are_damaged_in_parts_that_differ(monkeypatch, seen):
    monkeypatch.setattr(sections, "FILES_PER_TASK", 3)
    assert sections.readers(8, 5, jobs=1, tell=quiet).tried == len(seen) == 8
    assert not set(seen[:3]) & set(seen[3:6])


def test_decoders_of_images_are_silent(tmp_path, capfd):
    [image] = [one for one in make_readers(tmp_path) if one.name == "image"]
    file = io.BytesIO()
    Image.new("L", (5, 3)).save(file, "TIFF", compression="tiff_lzw")
    data = file.getvalue()
    for at in range(8, len(data)):  # some of them are noticed by the compiled decoder
        hostile.try_reader(image, data[:at] + b"\xff" + data[at + 1 :])
    assert capfd.readouterr().err == ""
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "heard again"


def test_sections_are_shown_when_they_end(monkeypatch, capsys):
    """What comes later has not begun: a run that is stopped has shown what it did."""

    def second(tell):
        assert "first: 3 tried, 1 faults, 2 s (kind 3)\noh\n" in capsys.readouterr().out
        raise KeyboardInterrupt

    first = Section("first", "", 3, ["oh"], Counter(kind=3), 2.0)
    monkeypatch.setattr(command, "_plan", lambda *_: [("a", lambda tell: first), ("b", second)])
    with pytest.raises(KeyboardInterrupt):
        command.selftest()


@pytest.mark.parametrize("faulty", [False, True])
def test_the_command_writes_its_table(tmp_path, monkeypatch, faulty):
    section = Section("soak", "it holds", tried=1234, faults=["oh"] if faulty else [], seconds=2.0)
    monkeypatch.setattr(command, "_plan", lambda *_: [("soak", lambda tell: section)])
    page = tmp_path / "page.md"
    page.write_text(f"before\n{command.BEGIN}\nstale\n{command.END}\nafter\n")
    done = CliRunner().invoke(make_app(["selftest"]), ["selftest", "--write", str(page)])
    assert done.exit_code == int(faulty)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert f"| soak | it holds | 1,234 | {int(faulty)} | 2 s |" in text


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_plan", lambda *_: [])
    page = tmp_path / "page.md"
    page.write_text("nothing")
    done = CliRunner().invoke(make_app(["selftest"]), ["selftest", "--write", str(page)])
    assert done.exit_code != 0
    assert page.read_text() == "nothing"
