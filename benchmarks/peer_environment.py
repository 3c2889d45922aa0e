"""The environments that peers run in, each in a folder of its own: Jupyter's kernels and the search libraries."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.environment import LOCK, find_environment

_CACHE = Path(__file__).parents[1] / ".cache"
_PEERS = ("ipykernel==7.4.0", "jupyter-client==8.10.0", "nbclient==0.11.0", "papermill==2.7.0")
_SEARCH = ("bm25s==0.3.16", "numpy==2.4.6", "rank-bm25==0.2.2")
_LIBRARIES = ("matplotlib", "numpy", "pandas", "pyarrow", "statsmodels")


def peer_python() -> Path:
    """The interpreter of Jupyter's kernels: the sandbox's Python and versions."""
    interpreter = find_environment().python.resolve()
    return _environment("Jupyter's kernel and clients", interpreter, (*_PEERS, *_LIBRARIES), _pins())


def search_python() -> Path:
    """The interpreter of the search libraries: our own Python."""
    return _environment("search libraries", Path(sys.executable).resolve(), _SEARCH, [])


def _environment(what: str, interpreter: Path, packages: tuple[str, ...], pins: list[str]) -> Path:
    """An environment's interpreter; the environment is made when it is not there."""
    key = "\n".join((str(interpreter), *packages, *pins))
    folder = _CACHE / f"peers-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    stamp = folder / "installed.stamp"
    if not stamp.exists():
        print(f"Setting up the peers' environment: {what} …", file=sys.stderr, flush=True)
        _make(folder, interpreter, packages, pins)
        stamp.touch()
    return folder / "bin" / "python"


def _pins() -> list[str]:
    """The lock's versions without its hashes, which would be asked of the peers too."""
    return [line.rstrip(" \\") for line in LOCK.read_text().splitlines() if re.match(r"[a-z0-9-]+==", line)]


def _make(folder: Path, interpreter: Path, packages: tuple[str, ...], pins: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins))
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--root-user-action=ignore", "-c", constraints, *packages], check=True)
