"""Debian's Chromium, which keeps a list of all it asked for."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@dataclass
class Watched:
    """A page, what it asked the network for, and what its policy stopped before that."""

    page: Page
    asked: list[str] = field(default_factory=list[str])
    stopped: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])


@contextmanager
def open_browser(width: int = 1300, height: int = 900) -> Generator[Watched]:
    """A browser for one test; a laptop without Chromium skips it."""
    if not CHROMIUM.exists():
        pytest.skip("no Chromium at /usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        try:
            watched = Watched(browser.new_page(viewport={"width": width, "height": height}))
            _watch(watched)
            yield watched
        finally:
            browser.close()


def _watch(watched: Watched) -> None:
    page = watched.page
    page.on("request", lambda request: watched.asked.append(request.url))
    page.on("websocket", lambda websocket: watched.asked.append(websocket.url))
    page.on("pageerror", lambda error: watched.failed.append(str(error)))
    page.on(
        "console",
        lambda message: watched.stopped.append(message.text) if "Content Security Policy" in message.text else None,
    )
