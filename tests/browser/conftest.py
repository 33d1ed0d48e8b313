"""A real headless browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser():
    """A browser, or a skip that says what is missing."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("no chromium found: install it (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=FLAGS, timeout=0)
        yield running
        running.close()


class Visit:
    """A page that is open, with everything it complained about or asked for."""

    def __init__(self, page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def broken_links(self) -> list[str]:
        """Links within the page that lead nowhere."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll('a[href^="#"]')]
                .map(a => a.getAttribute('href'))
                .filter(href => !document.getElementById(href.slice(1)))"""
        )


@pytest.fixture
def visit(browser):
    """Open an address: ``with visit(url, width=390) as seen: …``; no complaints are allowed."""

    @contextmanager
    def open_page(url: str, *, width: int = 1280, dark: bool = False) -> Iterator[Visit]:
        scheme = "dark" if dark else "light"
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        try:
            page.set_default_timeout(0)  # as long as it takes
            seen = Visit(page)
            page.goto(url)
            yield seen
            assert not seen.complaints
        finally:
            page.close()

    return open_page
