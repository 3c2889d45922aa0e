"""The checks as they are sent into the sandbox."""

import importlib.util
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from three_tools.evaluator.bundle import NAME, bundle

PRINT = "import hashlib; from three_tools.evaluator.bundle import bundle; print(hashlib.sha256(bundle()).hexdigest())"


def test_the_checks_are_the_same_bytes_in_every_process() -> None:
    """They are kept under their hash: what else a process has loaded adds no other version."""
    runs = [PRINT, f"import pydantic, decimal, http.client, asyncio; {PRINT}"]
    assert len({subprocess.check_output([sys.executable, "-c", code]) for code in runs}) == 1


def test_compiled_checks_are_used_by_the_python_that_compiled_them(tmp_path: Path) -> None:
    """Nothing is compiled anew in a check; another Python takes the sources that lie beside."""
    (tmp_path / NAME).write_bytes(bundle())
    look = f"import sys; sys.path.append({NAME!r}); import step_checks.checks as it; print(it.__file__)"
    used = subprocess.check_output([sys.executable, "-c", look], cwd=tmp_path, text=True)
    assert used.strip().endswith("step_checks/checks.pyc")
    packed = zipfile.ZipFile(io.BytesIO(bundle()))
    with zipfile.ZipFile(tmp_path / NAME, "w") as other:
        for name in packed.namelist():
            content = packed.read(name)
            other.writestr(name, content.replace(importlib.util.MAGIC_NUMBER, b"\0\0\r\n", 1))
    used = subprocess.check_output([sys.executable, "-c", look], cwd=tmp_path, text=True)
    assert used.strip().endswith("step_checks/checks.py")
