"""A run of a recipe at work, without Prefect."""

import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from run_record import Home, Question
from sandbox import HostSettings, LocalJail
from tasks.kernel import Kernel
from tasks.step_cache import StepCache
from tasks.work import Work
from three_tools.run import Equipment, open_run
from three_tools.search.local_folder import LocalFolderSearch


class NoVariables:
    """The plan of cells that talk through files only."""

    def replay(self, cell: str, live: Collection[str]) -> tuple[str, ...]:
        return ()


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="partner-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def jail(top: Path) -> Iterator[LocalJail]:
    jail = LocalJail(top / "jail", HostSettings(host_idle_s=60))
    yield jail
    jail.stop()


@pytest.fixture
def work(top: Path, jail: LocalJail, tmp_path: Path) -> Iterator[Work]:
    """With a cache of its own."""
    search = LocalFolderSearch(tmp_path / "documents", tmp_path / "index.sqlite")
    equipment = Equipment(backend=lambda: jail, search=lambda: search)
    with open_run(Home(top / "home"), equipment, Question(objective="Where?", by="anna")) as run:
        cache = StepCache(tmp_path / "cache", lambda text: run.record.note("the cache", text))
        yield Work(run, cache, Kernel(run, NoVariables(), {}, ""), lambda _step, _recorded: None)
