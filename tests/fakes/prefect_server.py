"""One real Prefect server for all tests of a session, whichever worker runs them, and flows of this process on it."""

import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from partner.launch import PrefectServer, client_settings, find_server, stop_server

IDLE_S = 1800.0
"""Longer than any time in which no test asks for it. When the tests' processes are killed, it ends by itself."""


@contextmanager
def shared_server(top: Path) -> Generator[PrefectServer]:
    """The server of a session's folder: the first worker starts it, the last one to leave ends it."""
    with open(top / "prefect-users", "ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield find_server(server_home(top), IDLE_S, environ={})
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        stop_server(server_home(top))


def server_home(top: Path) -> Path:
    return top / "home of the prefect server"


def variables(server: PrefectServer, results: Path) -> dict[str, str]:
    """The environment of a process that shall run flows on this server."""
    return client_settings(server, results, environ={})


@contextmanager
def settings_of_this_process(server: PrefectServer, results: Path) -> Generator[None]:
    """Prefect reads the environment once, when it is imported: after that, settings are changed in its context."""
    import prefect.settings
    from prefect.settings import temporary_settings

    named = {name: value for name, value in variables(server, results).items() if name in SETTINGS}
    changed: dict[Any, Any] = {getattr(prefect.settings, name): value for name, value in named.items()}
    # A sync flow waits up to a second for its heartbeat's thread when it ends; nothing here looks for dead flows.
    changed[prefect.settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY] = None
    with temporary_settings(changed):
        yield


SETTINGS = {
    "PREFECT_API_URL",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED",
    "PREFECT_LOCAL_STORAGE_PATH",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE",
}
"""Those that the context knows; the others are the environment's, for processes that a test starts."""


def wait_until(condition: Callable[[], object], what: str, patience_s: float = 180.0) -> None:
    """Look until it is so; what another process does has no event to wait for. Busy machines need patience."""
    until_s = monotonic() + patience_s
    while not condition():
        assert monotonic() < until_s, f"not within {patience_s} s: {what}"
        sleep(0.05)


def is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
