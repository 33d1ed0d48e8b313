"""Files appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from planaris.writing import open_whole


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "answer.txt"
    target.write_text("old")

    def write_and_fail() -> None:
        with open_whole(target) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_links_stay_links_and_permissions_are_ordinary(tmp_path: Path) -> None:
    plain, target, link = (tmp_path / name for name in ("plain", "target", "link"))
    plain.write_bytes(b"")
    link.symlink_to(target)
    with open_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, open_whole(tmp_path / "no" / "x.json"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "x.json")


def test_devices_and_open_files_are_written_to_as_they_are(tmp_path: Path) -> None:
    with open_whole("/dev/null") as file:
        file.write(b"gone")
    target = tmp_path / "open.txt"
    with target.open("wb") as opened, open_whole(f"/proc/self/fd/{opened.fileno()}") as file:
        before = os.fstat(opened.fileno()).st_ino
        file.write(b"here")
    assert target.stat().st_ino == before
    assert target.read_bytes() == b"here"
