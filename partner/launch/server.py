"""Finding the Prefect server that runs talk to, and starting the home's own when there is none."""

import base64
import http.client
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from partner.errors import ServerFailed
from partner.launch.folder import ServerFolder
from partner.launch.knock import Answer, knock
from partner.launch.start import Start
from run_record.plain_text import printable

_GIVEN_S = 4.0
_BUSY_S = 20.0
_END_S = 12.0
_LOOK_S = 0.1
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
_UNAUTHORISED = (401, 403)
_CLOUD = "https://api.prefect.cloud/api"
_VERSION = TypeAdapter(Annotated[str, Field(pattern=r"^\d+\.")])
_LONGEST_VERSION = 1000


@dataclass(frozen=True, slots=True)
class PrefectServer:
    """A server that answers, and how to speak to it."""

    api_url: str
    ui_url: str
    auth: str = field(repr=False)
    """`user:password`; empty for a server that is not ours: the user's own settings hold."""
    is_ours: bool
    was_started: bool

    def page(self, flow_run_id: str) -> str:
        """Where it shows a flow run. Of ours the newer pages: who has not signed in is asked to, and led back."""
        runs = f"{self.ui_url}/v2/runs" if self.is_ours else f"{self.ui_url}/runs"
        return f"{runs}/flow-run/{flow_run_id}" if flow_run_id else runs


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the home's own server says of itself."""

    ui_url: str
    pid: int
    prefect: str
    up_s: float


def find_server(
    home: Path, idle_s: float, say: Callable[[str], None] | None = None, environ: Mapping[str, str] = os.environ
) -> PrefectServer:
    """The server named by PREFECT_API_URL, else the home's own, which is started when it is not up."""
    folder = ServerFolder(home)
    given = environ.get("PREFECT_API_URL")
    if given and not folder.is_told_by(environ):
        _ask_given(given, environ)
        return PrefectServer(
            api_url=given, ui_url=given.rstrip("/").removesuffix("/api"), auth="", is_ours=False, was_started=False
        )
    folder.make()
    with folder.only_one_starts():
        if found := _knock_until_gone(folder):
            if found[1].prefect == version("prefect"):
                return _ours(folder, found[0], was_started=False)
            _end(found[1].pid)  # Prefect was changed since it started
        began_s = time.monotonic()
        if say is not None:
            say("Prefect     starting a local server …")
        _start(folder, home, idle_s)
        found = _knock(folder, means_use=True)
    if found is None:
        raise ServerFailed(
            f"the local Prefect server did not start; the end of {folder.log}:\n{folder.log_end()}",
            "see `partner doctor`; or name a server of your own in PREFECT_API_URL",
        )
    server = _ours(folder, found[0], was_started=True)
    if say is not None:
        taken_s = time.monotonic() - began_s
        say(f"Prefect     local server on 127.0.0.1:{found[0]}, ready in {taken_s:.1f} s   UI: {server.ui_url}")
        say(f"            sign in to the UI with what is in {folder.auth_file}")
    return server


def server_state(home: Path, *, means_use: bool = False) -> ServerState | None:
    """What the home's own server says when it is up; asking keeps it from ending only when it means use."""
    found = _knock(ServerFolder(home), means_use=means_use)
    if found is None:
        return None
    port, answer = found
    return ServerState(f"http://127.0.0.1:{port}", answer.pid, answer.prefect, answer.up_s)


def stop_server(home: Path) -> bool:
    """End the home's own server; whether there was one."""
    found = _knock(ServerFolder(home), means_use=False)
    if found is not None:
        _end(found[1].pid)
    return found is not None


def _ours(folder: ServerFolder, port: int, *, was_started: bool) -> PrefectServer:
    url = f"http://127.0.0.1:{port}"
    return PrefectServer(f"{url}/api", url, folder.auth(), is_ours=True, was_started=was_started)


def _knock(folder: ServerFolder, *, means_use: bool) -> tuple[int, Answer] | None:
    record = folder.read_record()
    if record is None:
        return None
    answer = knock(record.port, folder.auth(), means_use=means_use)
    return None if answer is None else (record.port, answer)


def _knock_until_gone(folder: ServerFolder) -> tuple[int, Answer] | None:
    """One that is there and does not answer is busy, or just ending."""
    until_s = time.monotonic() + _BUSY_S
    while True:
        is_running = folder.is_running()
        if (found := _knock(folder, means_use=True)) or not is_running:
            return found
        if time.monotonic() > until_s:
            record = folder.read_record()
            raise ServerFailed(
                f"the local Prefect server is there and does not answer; the end of {folder.log}:\n{folder.log_end()}",
                f"kill {record.pid}" if record else f"end the process that holds {folder.path / 'running.lock'}",
            )
        time.sleep(_LOOK_S)


def _start(folder: ServerFolder, home: Path, idle_s: float) -> None:
    """Start it, and wait until it says that it answers, or is gone."""
    code = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"HOME": str(folder.path), "PYTHONPATH": code, "PYTHONUNBUFFERED": "1"}
    with open(os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "partner.launch.prefect_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            cwd=folder.path,
        )
        process.communicate(Start(home=home.absolute(), idle_s=idle_s).model_dump_json().encode())


def _end(pid: int) -> None:
    """SIGTERM, and SIGKILL for one that does not mind it; back when the process is gone."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGTERM)
            if not select.select([process], [], [], _END_S)[0]:
                signal.pidfd_send_signal(process, signal.SIGKILL)
                select.select([process], [], [], _END_S)
    finally:
        os.close(process)


def _ask_given(api_url: str, environ: Mapping[str, str]) -> None:
    """Whether a server that the user named answers, and to us, and is Prefect's."""
    remedy = "start it, correct PREFECT_API_URL, or unset it: then a local server is started"
    try:
        url = f"{api_url.rstrip('/')}/admin/version"
        request = urllib.request.Request(url, headers=_authorisation(environ))  # noqa: S310  (the user's own URL)
        with urllib.request.urlopen(request, timeout=_GIVEN_S) as answer:  # noqa: S310  (the user's own URL)
            _VERSION.validate_json(answer.read(_LONGEST_VERSION))
    except urllib.error.HTTPError as error:
        if error.code in _UNAUTHORISED:
            raise ServerFailed(
                f"the Prefect server at PREFECT_API_URL={api_url} refuses us (HTTP {error.code})",
                "set PREFECT_API_AUTH_STRING (user:password) or PREFECT_API_KEY to what it wants",
            ) from None
        if not api_url.startswith(environ.get("PREFECT_CLOUD_API_URL") or _CLOUD):  # which has no such page
            raise ServerFailed(
                f"what answers at PREFECT_API_URL={api_url} does not answer as Prefect does (HTTP {error.code})",
                remedy,
            ) from None
    except ValidationError:
        raise ServerFailed(
            f"what answers at PREFECT_API_URL={api_url} is not Prefect's API",
            "name the address of its API, as in http://127.0.0.1:4200/api, or unset it",
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = printable(str(getattr(error, "reason", error)))
        raise ServerFailed(f"no Prefect server answers at PREFECT_API_URL={api_url}: {reason}", remedy) from None


def _authorisation(environ: Mapping[str, str]) -> dict[str, str]:
    if auth := environ.get("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"}
    key = environ.get("PREFECT_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}
