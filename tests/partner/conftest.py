"""A home that the command line finds through its environment, and a run in it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.command_line import partner


@pytest.fixture
def partner_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the commands in this test; `anna` signs."""
    monkeypatch.setenv("PARTNER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PARTNER_AUTHOR", "anna")
    # Starting a sandbox takes seconds: tests that are not about cells or verdicts do without, and say NOT EVALUATED.
    monkeypatch.setenv("PARTNER_SANDBOX_ENVIRONMENT", str(tmp_path / "none"))
    return tmp_path / "home"


@pytest.fixture
def run(partner_home: Path) -> str:
    """A run with one file."""
    run_id = partner("open", "--objective", "Which channels?", "--json").json["run_id"]
    assert partner("files", "write", run_id, "facts.json", stdin=b'{"facts": []}').code == 0
    return run_id


@pytest.fixture
def sandbox(partner_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The real one, in a home that the users cells run as can pass through; its host ends with the test."""
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    monkeypatch.setenv("PARTNER_HOME", str(top / "home"))
    monkeypatch.delenv("PARTNER_SANDBOX_ENVIRONMENT")
    monkeypatch.setenv("PARTNER_HOST_IDLE_S", "60")
    yield
    partner("sandbox", "stop")
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture(autouse=True)
def short_lived_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox host that a test starts ends soon after it."""
    monkeypatch.setenv("PARTNER_HOST_IDLE_S", "1")
