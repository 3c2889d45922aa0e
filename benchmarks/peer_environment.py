"""The environment that Jupyter's kernels run in: the sandbox's Python and versions, in a folder of its own."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.environment import LOCK, find_environment

_CACHE = Path(__file__).parents[1] / ".cache"
_PEERS = ("ipykernel==7.4.0", "jupyter-client==8.10.0", "nbclient==0.11.0", "papermill==2.7.0")
_LIBRARIES = ("matplotlib", "numpy", "pandas", "pyarrow", "statsmodels")


def peer_python() -> Path:
    """The peers' interpreter; its environment is made when it is not there."""
    interpreter = find_environment().python.resolve()
    pins = _pins()
    key = "\n".join((str(interpreter), *_PEERS, *_LIBRARIES, *pins))
    folder = _CACHE / f"peers-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    stamp = folder / "installed.stamp"
    if not stamp.exists():
        print("Setting up the peers' environment: Jupyter's kernel and clients …", file=sys.stderr, flush=True)
        _make(folder, interpreter, pins)
        stamp.touch()
    return folder / "bin" / "python"


def _pins() -> list[str]:
    """The lock's versions without its hashes, which would be asked of the peers too."""
    return [line.rstrip(" \\") for line in LOCK.read_text().splitlines() if re.match(r"[a-z0-9-]+==", line)]


def _make(folder: Path, interpreter: Path, pins: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins))
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--root-user-action=ignore", "-c", constraints, *_PEERS, *_LIBRARIES], check=True)
