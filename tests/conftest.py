"""What every test may use: a home, a run in it, and the rule that CI skips nothing it was told to run."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from fakes.clock import FakeClock
from fakes.prefect_server import settings_of_this_process, shared_server, variables
from partner.launch import PrefectServer
from run_record import Home, Question, RunRecord

# Slow machines are no failure; CI tries the same examples each time, people's machines new ones.
settings.register_profile("partner", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("partner")
MUST_RUN = set(filter(None, os.environ.get("PARTNER_TESTS_MUST_RUN", "").split(",")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test that CI must run is a failed one."""
    report = yield
    needed = MUST_RUN.intersection(mark.name for mark in item.iter_markers())
    if report.skipped and needed:
        report.outcome = "failed"
        report.longrepr = f"skipped, but PARTNER_TESTS_MUST_RUN names {', '.join(sorted(needed))}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself hides which tests it had, so where some must run it may not."""
    report = yield
    if report.skipped and MUST_RUN:
        report.outcome = "failed"
        report.longrepr = "a module skipped itself, but PARTNER_TESTS_MUST_RUN is set"
    return report


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of whoever runs the tests reaches them."""
    for name in [name for name in os.environ if name.startswith(("PARTNER_", "PREFECT_")) or name == "TAVILY_API_KEY"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def home(tmp_path: Path, clock: FakeClock) -> Home:
    return Home(tmp_path / "home", clock)


@pytest.fixture
def record(home: Home) -> RunRecord:
    return home.create_run(Question(objective="Where should the money go?", by="anna"))


@pytest.fixture(scope="session")
def session_prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[PrefectServer]:
    """One for all workers; tests ask for `prefect_server`, which also points this process at it."""
    top = tmp_path_factory.getbasetemp()
    with shared_server(top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) as server:
        yield server


@pytest.fixture
def prefect_server(
    session_prefect_server: PrefectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[PrefectServer]:
    """A running server that flows of this process, and of processes that the test starts, use.

    Those get it from the environment. Here, where Prefect may have been imported before, its settings' context is
    changed for the test; a thread or flow that outlives the test does not see it. Results are the test's own. The
    database is everyone's: look for what you made by its id, not by counting.
    """
    for name, value in variables(session_prefect_server, tmp_path).items():
        monkeypatch.setenv(name, value)
    with settings_of_this_process(session_prefect_server, tmp_path):
        yield session_prefect_server
