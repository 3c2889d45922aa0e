"""A kitchen to run recipes in."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.kitchen import Kitchen
from partner.launch import PrefectServer
from recipes.library import library
from sandbox import HostSettings, LocalJail


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A folder that the users cells run as can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="partner-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def jail(top: Path) -> Iterator[LocalJail]:
    jail = LocalJail(top / "jail", HostSettings(host_idle_s=60), libraries=library())
    yield jail
    jail.stop()


@pytest.fixture
def kitchen(top: Path, jail: LocalJail, prefect_server: PrefectServer, request: pytest.FixtureRequest) -> Kitchen:
    """With a home of its own for each test: nothing is in its cache."""
    folder = top / f"{abs(hash(request.node.name)):x}"
    folder.mkdir(mode=0o755)
    return Kitchen(folder, jail)
