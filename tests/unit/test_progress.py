"""The progress bar: nothing for two seconds, then a bar until it is closed."""

from __future__ import annotations

from planaris.progress import PATIENCE_SECONDS, LateBar


def test_a_bar_waits_shows_the_fraction_and_goes() -> None:
    bar = LateBar("counting")
    bar.close()  # never shown
    bar(0.25)
    assert bar.bar is None
    bar.started -= PATIENCE_SECONDS
    bar(0.5)
    (task,) = bar.progress.tasks
    assert (task.description, task.completed, task.total) == ("counting", 0.5, 1.0)
    bar(-1.0)  # unknown
    assert bar.progress.tasks[0].completed == 0.0
    bar.close()
    assert bar.progress.finished or not bar.progress.live.is_started
