"""The environment variables that make Prefect behave, in the server's process and in those that run flows.

Prefect reads its settings when it is imported: they must stand in the environment before that.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

_ALWAYS = {
    # Nothing tells anyone outside what is done here.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
    # A flow that finds no server would start one of its own, for 15 s, every time.
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
}
_QUIET = {
    # The person watching sees our progress, and an error once, in our words: Prefect logs it with its whole stack. Logs
    # of flows and tasks go to the server all the same, from INFO on.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_OURS = {
    # What every client would ask first: our server is this installation's own version, and wants no CSRF token.
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
    "PREFECT_API_KEY": "",
    "PREFECT_CLIENT_MAX_RETRIES": "4",  # for a server that is gone, after 2, 4, 8 and 16 s
}
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


class UsableServer(Protocol):
    """What a client must know of its server."""

    @property
    def api_url(self) -> str: ...
    @property
    def auth(self) -> str: ...
    @property
    def is_ours(self) -> bool: ...


def client_settings(server: UsableServer, home: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What to put into os.environ before Prefect is imported, so that flows of this process use that server.

    Settings of taste that the user made (logging) stay as they are.
    """
    folder = home.absolute() / "prefect"
    settings = {
        **_ALWAYS,
        **{name: value for name, value in _QUIET.items() if name not in environ},
        "PREFECT_API_URL": server.api_url,
        "PREFECT_HOME": str(folder),
        # Said outright: a file in the current folder could name another, and the user's own are not for our server.
        "PREFECT_PROFILES_PATH": str(folder / "profiles.toml"),
        # What Prefect keeps for itself, such as the error a flow ended with: results of steps lie elsewhere.
        "PREFECT_LOCAL_STORAGE_PATH": str(folder / "results"),
    }
    if server.is_ours:
        settings |= _OURS | {"PREFECT_API_AUTH_STRING": server.auth} | _past_proxies(environ)
    return settings


def server_settings(port: int, auth: str, ui_copy: Path | None) -> dict[str, str]:
    """What the server's process is told, in `<home>/prefect` as its current folder."""
    origins = [f"http://{host}:{port}" for host in ("127.0.0.1", "localhost")]
    return {
        **_ALWAYS,
        "PREFECT_HOME": os.getcwd(),
        # Relative, so that no character of the home's path can mean something in an URL.
        "PREFECT_API_DATABASE_CONNECTION_URL": "sqlite+aiosqlite:///prefect.db",
        "PREFECT_API_URL": f"{origins[0]}/api",
        "PREFECT_API_AUTH_STRING": auth,
        "PREFECT_SERVER_API_AUTH_STRING": auth,
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins),
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_UI_API_URL": "/api",
        "PREFECT_LOGGING_COLORS": "false",
        **({"PREFECT_UI_STATIC_DIRECTORY": str(ui_copy)} if ui_copy else {}),
    }


def _past_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """A proxy for the web is none for this machine."""
    if not any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES):
        return {}
    known = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    value = ",".join(filter(None, [known, "127.0.0.1", "localhost"]))
    return {"NO_PROXY": value, "no_proxy": value}
