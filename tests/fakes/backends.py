"""The backends that every conformance check runs on, and the ways their walls can be built."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import Backend, Cell, CellResult, HostSettings, JailSession, Limits, LocalJail, SessionSpec

PLAIN_USER = 47_110
"""Nobody's number; root's tests become this user to try what a plain user gets."""

MODES = {
    "root": HostSettings(host_idle_s=60),
    "root-no-namespaces": HostSettings(host_idle_s=60, use_namespaces=False, use_cgroups=False),
    "user": HostSettings(host_idle_s=60, run_as=PLAIN_USER),
    "user-no-namespaces": HostSettings(host_idle_s=60, use_namespaces=False, run_as=PLAIN_USER),
}
"""As root and as a plain user, with namespaces and without; with control groups where root may make them."""


def modes_here() -> list[str]:
    return [name for name in MODES if os.geteuid() == 0 or name.startswith("user")]


def settings_of(mode: str) -> HostSettings:
    """The settings of a mode; a plain user is who they are."""
    settings = MODES[mode]
    if os.geteuid() == 0:
        return settings
    return HostSettings(host_idle_s=60, use_namespaces=settings.use_namespaces)


@dataclass
class Place:
    """A backend, and a folder of its own for every session."""

    backend: Backend
    top: Path
    owner: int

    def folder(self, name: str = "") -> Path:
        folder = self.top / (name or secrets.token_hex(4))
        folder.mkdir()
        os.chown(folder, self.owner, -1)
        return folder

    @contextmanager
    def session(self, **options: Any) -> Iterator["Desk"]:
        """A session that is closed at the end; `limits` as a dict of its fields."""
        work = self.folder()
        limits = Limits(**options.pop("limits", {}))
        name = f"s-{secrets.token_hex(4)}"
        session = self.backend.open_session(SessionSpec(name=name, work=str(work), limits=limits, **options))
        try:
            yield Desk(session, work)
        finally:
            session.close()


@dataclass
class Desk:
    """A session and its folder, in short words."""

    session: Any  # Any: a backend's own session, which tests may ask for more than the Protocol has
    work: Path

    def run(self, code: str, **options: Any) -> CellResult:
        return self.session.run(Cell(code=code, **options))

    def value(self, code: str, **options: Any) -> str:
        """The text of a cell's last expression; the cell must end well."""
        result = self.run(code, **options)
        assert result.ok, (result.cause, result.detail, result.outputs)
        shown = [output for output in result.outputs if output["output_type"] == "execute_result"]
        return shown[-1]["data"]["text/plain"] if shown else ""

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        owner = self.work.stat().st_uid
        for made in (path, *path.relative_to(self.work).parents):
            if str(made) != ".":
                os.chown(self.work / made, owner, owner)
        return path


@contextmanager
def local_jail(mode: str, **changes: Any) -> Iterator[Place]:
    """A jail of its own, whose host is stopped at the end."""
    from dataclasses import replace

    settings = replace(settings_of(mode), **changes)
    top = Path(tempfile.mkdtemp(prefix="partner-test-"))
    top.chmod(0o755)
    owner = settings.run_as if settings.run_as is not None else os.geteuid()
    jail = LocalJail(top / "home", settings)
    try:
        yield Place(jail, top, owner)
    finally:
        jail.stop()
        shutil.rmtree(top, ignore_errors=True)


__all__ = ["MODES", "PLAIN_USER", "Desk", "JailSession", "Place", "local_jail", "modes_here", "settings_of"]
