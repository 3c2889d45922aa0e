"""CI skips nothing that it was told to run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPING = {
    "a test that skips itself": "import pytest\n@pytest.mark.docker\ndef test(): pytest.skip('no engine')\n",
    "a mark that skips": "import pytest\n@pytest.mark.docker\n@pytest.mark.skip\ndef test(): pass\n",
    "a module that skips": "import pytest\npytest.importorskip('nothing_of_that_name')\n",
}


def run_pytest(folder: Path, content: str, must_run: str) -> int:
    """pytest on one file, with this project's conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_it.py").write_text(content)
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, "PARTNER_TESTS_MUST_RUN": must_run, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run([sys.executable, "-m", "pytest", *options, folder], env=environment, check=False).returncode


@pytest.mark.parametrize("content", SKIPPING.values(), ids=SKIPPING.keys())
def test_a_skipped_test_that_must_run_is_a_failure(tmp_path: Path, content: str) -> None:
    """Where docker must run, skipping it fails in every way a test can be skipped."""
    assert run_pytest(tmp_path, content, "docker,browser") in (1, 2)


@pytest.mark.parametrize("content", list(SKIPPING.values())[:2])
def test_a_laptop_may_skip(tmp_path: Path, content: str) -> None:
    """Where nothing must run, or something else must, the same test may be skipped."""
    assert run_pytest(tmp_path, content, "") == 0
    assert run_pytest(tmp_path, content, "browser") == 0
