"""The shared server, as every client and browser sees it."""

import base64
import http.client
import json
import stat
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fakes.prefect_server import server_home
from partner.launch import PrefectServer, find_server, server_state


def ask(url: str, body: object = None, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, str], Any]:
    """Status, headers and content of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def with_auth(server: PrefectServer) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(server.auth.encode()).decode()}"}


@pytest.fixture
def folder(prefect_server: PrefectServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return next(home for home in map(server_home, (base, base.parent)) if home.exists()) / "prefect"


def test_it_is_found_again(prefect_server: PrefectServer, folder: Path) -> None:
    """A second call finds the server that the first one started, and says nothing."""
    said: list[str] = []
    found = find_server(folder.parent, 120, said.append, environ={})
    assert (found.api_url, found.auth, found.is_ours) == (prefect_server.api_url, prefect_server.auth, True)
    assert (found.was_started, said) == (False, [])
    state = server_state(folder.parent)
    assert state is not None
    assert (state.ui_url, state.prefect) == (prefect_server.ui_url, "3.8.8")


def test_its_files_are_its_owners_alone(prefect_server: PrefectServer, folder: Path) -> None:
    """Secret, record and database can be read by nobody else; the secret is not in what is printed."""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("auth", "server.json", "prefect.db", "server.log"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name
    assert (folder / "auth").read_text() == prefect_server.auth
    assert prefect_server.auth not in repr(prefect_server)


def test_it_refuses_whoever_has_no_secret(prefect_server: PrefectServer) -> None:
    """The API answers 401 without the secret or with another, and works with it."""
    url = f"{prefect_server.api_url}/flows/filter"
    assert ask(url, {})[0] == 401
    assert ask(url, {}, {"Authorization": "Basic cGFydG5lcjp4"})[0] == 401
    assert ask(url, {}, with_auth(prefect_server))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example:4200"},
        {"Host": "127.0.0.1"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
    ],
    ids=str,
)
def test_it_refuses_foreign_names_and_pages(prefect_server: PrefectServer, headers: dict[str, str]) -> None:
    """A request for another host, or of another site's page, is refused even with the secret."""
    assert ask(f"{prefect_server.api_url}/flows/filter", {}, with_auth(prefect_server) | headers)[0] == 403
    assert ask(prefect_server.ui_url, headers=headers)[0] == 403


def handshake(server: PrefectServer, headers: Mapping[str, str]) -> int:
    """The status with which a websocket is answered."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Protocol"] = "prefect"
    client = http.client.HTTPConnection(server.ui_url.removeprefix("http://"), timeout=20)
    with closing(client):
        client.request(
            "GET", "/api/events/in", headers={**upgrade, "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", **headers}
        )
        return client.getresponse().status


def test_it_refuses_foreign_pages_a_websocket(prefect_server: PrefectServer) -> None:
    """Browsers let any page open one: it is the server that must say no."""
    assert handshake(prefect_server, {"Origin": prefect_server.ui_url}) == 101
    assert handshake(prefect_server, {"Origin": "http://elsewhere.example"}) == 403
    assert handshake(prefect_server, {"Host": "elsewhere.example"}) == 403


@pytest.mark.parametrize("page", ["/", "/v2/", "/runs", "/ui-settings", "/api/health"])
def test_its_pages_may_reach_nothing_else(prefect_server: PrefectServer, page: str) -> None:
    """Every answer forbids pages to load or call anything that is not this server's."""
    status, headers, _ = ask(prefect_server.ui_url + page, headers={"Accept": "text/html"})
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert status == 200
    assert policy["default-src"] == "'self'"
    port = prefect_server.ui_url.rpartition(":")[2]
    assert policy["connect-src"] == f"'self' ws://127.0.0.1:{port} ws://localhost:{port}"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"


def test_its_knock_does_not_give_the_secret_away(prefect_server: PrefectServer, folder: Path) -> None:
    """Whoever asks without the secret learns a signature of what they sent, and each is another."""
    answers = [ask(f"{prefect_server.ui_url}/.partner/server?nonce={nonce}")[2] for nonce in "ab"]
    assert prefect_server.auth.partition(":")[2].encode() not in answers[0]
    assert json.loads(answers[0])["proof"] != json.loads(answers[1])["proof"]
