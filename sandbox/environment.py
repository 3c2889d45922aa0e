"""The Python environment that cells run in: what a lock pins, the half of this package that runs beside them, and
what the caller gives cells to import.

`setup/install` makes the first part. The others are published here, so that a change to them takes effect at once:
hosts and zygotes run from a copy that every user can read and that is named by its content.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxFailed

_ROOT = Path(__file__).parents[1]
LOCK = _ROOT / "requirements-sandbox.lock"
_INSIDE = ("linux.py", "frames.py", "failure.py", "zygote.py", "keeper.py", "walls", "kernel", "host")
_PYTHON = "bin/python"


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that is ready for use."""

    folder: Path
    python: Path
    code: Path
    """Where our half and the caller's libraries lie: the folder to put on the path."""
    digest: str
    """Names the locked libraries, the interpreter and what lies in `code`: what a cell can import."""


def default_folder() -> Path:
    """Where set-up puts the environment for this lock; as root, where other users can pass."""
    top = Path("/var/lib/partner/environments") if os.geteuid() == 0 else _ROOT / ".sandbox"
    return top / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]


def find_environment(folder: Path | None = None, libraries: Mapping[str, Path] | None = None) -> Environment:
    """The environment, with our half published into it, and the caller's libraries beside it.

    `libraries`: Python files and folders of them, by the path they are to have: {"recipes/kit": …}.
    """
    folder = folder or default_folder()
    python = folder / _PYTHON
    stamp = folder / "installed.stamp"
    if not python.exists() or not stamp.exists():
        raise SandboxFailed(f"the sandbox's environment is not at {folder}", "run `make install`")
    files = _inside() | _given(libraries or {})
    ours = _digest({name: path.read_bytes() for name, path in files.items()})
    code = folder / "ours" / ours[:16]
    if not code.exists():
        _publish(files, code)
    digest = _digest({"lock and interpreter": stamp.read_bytes(), "ours": ours.encode()})
    return Environment(folder, python, code, digest)


def _inside() -> dict[str, Path]:
    here = Path(__file__).parent
    files = [
        path for name in _INSIDE for path in ([here / name] if name.endswith(".py") else (here / name).rglob("*.py"))
    ]
    return {str(path.relative_to(here.parent)): path for path in sorted(files)}


def _given(libraries: Mapping[str, Path]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name, path in libraries.items():
        if name.split("/")[0] == __package__ or name.startswith("/") or ".." in name.split("/"):
            raise SandboxFailed(f"a library cannot lie at '{name}'", "give it the path of a package of its own")
        if path.is_dir():
            files |= {f"{name}/{file.relative_to(path).as_posix()}": file for file in sorted(path.rglob("*.py"))}
        elif path.is_file():
            files[name] = path
        else:
            raise SandboxFailed(f"the library {name} is not at {path}", "run `make install`")
    return files


def _digest(parts: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, content in parts.items():
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def _publish(files: dict[str, Path], target: Path) -> None:
    """All at once: whoever sees the folder sees it whole."""
    try:
        target.parent.mkdir(mode=0o755, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=target.parent))
        for name, source in files.items():
            (making / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, making / name)
        for path in (making, *making.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        with suppress(FileExistsError, OSError):  # another process was quicker, with the same content
            making.rename(target)
        shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise SandboxFailed(
            f"{target.parent} cannot be written: {error.strerror}", "run `make install` as its owner"
        ) from error
