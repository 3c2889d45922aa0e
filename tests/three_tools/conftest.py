"""Runs with real tools: a real home, a real sandbox, a real folder of documents."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_record import Home, Question
from sandbox import HostSettings, LocalJail
from three_tools.policy import PERSON, Context
from three_tools.run import Equipment, Run, open_run
from three_tools.search.local_folder import LocalFolderSearch


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the users cells run as can pass through."""
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    yield top
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture(scope="module")
def jail(place: Path) -> Iterator[LocalJail]:
    jail = LocalJail(place / "home", HostSettings(host_idle_s=60))
    yield jail
    jail.stop()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Three documents, two of them nearly the same."""
    folder = tmp_path / "documents"
    story = "Heat pump sales in the Nordic market rose by 14 percent in 2025 as subsidies returned, the agency said."
    for name, body in (
        ("acme.example/a.md", story),
        ("wire.example/b.md", f"{story} It was the third rise."),
        ("acme.example/c.txt", "Gas boilers."),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"---\ntitle: {name}\nurl: https://{name}\ndate: 2026-02-03\n---\n{body}\n")
    return folder


@pytest.fixture
def equipment(jail: LocalJail, documents: Path, tmp_path: Path) -> Equipment:
    return Equipment(
        backend=lambda: jail, search=lambda: LocalFolderSearch(documents, tmp_path / "search" / "index.sqlite")
    )


@pytest.fixture
def real_home(place: Path) -> Home:
    return Home(place / "home")


@pytest.fixture
def work(real_home: Home, equipment: Equipment) -> Iterator[Run]:
    """A run at work."""
    with open_run(real_home, equipment, Question(objective="Where?", by="anna"), Context(PERSON, "anna")) as run:
        yield run
