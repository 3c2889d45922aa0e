"""The pages of the local server, in a real browser."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fakes.browser import Watched, open_browser
from partner.launch import PrefectServer

pytestmark = pytest.mark.browser


def hosts(urls: list[str]) -> set[str]:
    """Whom a page asked; what it made itself (blob:, data:) is nobody's."""
    return {urlsplit(url).netloc for url in urls if not url.startswith(("blob:", "data:"))}


def sign_in(watched: Watched, server: PrefectServer) -> None:
    watched.page.locator("input[type=password]").fill(server.auth)
    watched.page.keyboard.press("Enter")
    watched.page.locator("input[type=password]").wait_for(state="detached")


def a_finished_run() -> str:
    from prefect import flow, task
    from prefect.runtime import flow_run

    @task
    def double(number: int) -> int:
        return number * 2

    @flow(name="a flow to look at")
    def doubled() -> str:
        double(21)
        return str(flow_run.get_id())

    return doubled()


def test_a_person_sees_a_run_and_the_browser_asks_nobody_else(prefect_server: PrefectServer, tmp_path: Path) -> None:
    """The link to a run leads there by way of signing in; its page shows its state, its task in the graph and its logs;
    no request goes to any other host."""
    run_id = a_finished_run()
    with open_browser() as watched:
        page = watched.page
        page.goto(prefect_server.page(run_id))
        sign_in(watched, prefect_server)
        page.get_by_text("Completed", exact=True).first.wait_for()
        page.get_by_text("Finished in state Completed()").first.wait_for()
        page.locator("canvas").wait_for()
        page.screenshot(path=tmp_path / "run.png")
        assert hosts(watched.asked) == {urlsplit(prefect_server.ui_url).netloc}
        assert watched.failed == []
        # What it would have called: when the list is empty, the policy has nothing left to stop.
        assert {host for text in watched.stopped for host in re.findall(r"https?://([^/']+)", text)} - hosts(
            [prefect_server.ui_url]
        ) <= {"sr-client-cfg.amplitude.com", "api2.amplitude.com", "diagnostics.prod.us-west-2.amplitude.com"}


def test_the_older_pages_work_too(prefect_server: PrefectServer) -> None:
    """The V1 pages are one click away, and keep to this host as well."""
    with open_browser() as watched:
        page = watched.page
        page.goto(f"{prefect_server.ui_url}/v2/")
        sign_in(watched, prefect_server)
        page.get_by_text("Switch to V1 UI").click()
        page.get_by_text("Flow Runs").first.wait_for()
        assert hosts(watched.asked) == {urlsplit(prefect_server.ui_url).netloc}
