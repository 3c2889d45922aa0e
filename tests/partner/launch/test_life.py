"""How a local server begins and ends, and what is done about one that is not what its record says."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from time import monotonic

import pytest

from fakes.prefect_server import is_alive, wait_until
from partner.errors import ServerFailed
from partner.launch import PrefectServer, ServerState, client_settings, find_server, kept_up, server_state, stop_server

FIND = """
import sys
from pathlib import Path
from partner.launch import find_server
print(find_server(Path(sys.argv[1]), 60))
"""


COMPUTE = """
import sys
from pathlib import Path
from time import sleep
from prefect import flow, task  # before the server starts: it takes longer than the server would wait
from fakes.prefect_server import is_alive, settings_of_this_process
from partner.launch import find_server, server_state

@task
def compute() -> str:
    sleep(5)
    return "computed"

@flow
def computing() -> str:
    return compute()

home = Path(sys.argv[1])
server = find_server(home, 2.5)
pid = server_state(home).pid
with settings_of_this_process(server, home):
    done = computing()
assert is_alive(pid)
print(done, pid)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with a space, a hash and a question mark in its path; its server ends with the test."""
    home = tmp_path / "a #1 home?"
    yield home
    stop_server(home)


def state_of(home: Path) -> ServerState:
    state = server_state(home)
    assert state is not None
    return state


def test_two_at_once_give_one_that_outlives_them_and_comes_back_after_a_kill(home: Path) -> None:
    """Processes that start one at once share it; after SIGKILL it is started where it was, so that flows go on."""
    finders = [
        subprocess.Popen([sys.executable, "-c", FIND, home], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    found = [finder.communicate()[0] for finder in finders]
    assert sorted("was_started=True" in text for text in found) == [False, True]
    first = state_of(home)
    settings = client_settings(find_server(home, 60, environ={}), home, environ={})

    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(first.pid), "the server is gone")
    assert server_state(home) is None
    said: list[str] = []
    again = find_server(home, 60, said.append, environ=settings)
    assert (again.was_started, again.api_url) == (True, settings["PREFECT_API_URL"])
    assert [line.split()[:2] for line in said] == [["Prefect", "starting"], ["Prefect", "local"], ["sign", "in"]]
    second = state_of(home)
    assert second.pid != first.pid

    os.kill(second.pid, signal.SIGTERM)
    wait_until(lambda: not is_alive(second.pid), "SIGTERM ends it")
    assert not (home / "prefect" / "server.json").exists()


def test_one_of_another_version_gives_way(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade the server of the old Prefect is ended, and one of the new started in its place."""
    find_server(home, 60, environ={})
    old = state_of(home).pid
    monkeypatch.setattr("partner.launch.server.version", lambda _name: "99.0.0")
    assert find_server(home, 60, environ={}).was_started
    assert not is_alive(old)
    assert state_of(home).pid != old


def test_it_ends_when_idle_and_not_during_a_flow(home: Path) -> None:
    """A flow that computes for longer than the server waits keeps it; without one it is gone."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", COMPUTE, str(home)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    computed, pid = done.stdout.split()
    assert computed == "computed"
    wait_until(lambda: not is_alive(int(pid)), "the server is gone when nobody uses it")


def test_it_does_not_end_while_a_run_is_made_ready(home: Path) -> None:
    """Importing Prefect may take longer than the server waits; whoever keeps it up uses it."""
    server = find_server(home, 3, environ={})
    with kept_up(server, home, 3):
        pid = state_of(home).pid
        wait_until(lambda: (state := server_state(home)) is None or state.up_s > 7, "it should have ended twice")
        assert state_of(home).pid == pid


def test_a_home_that_is_removed_during_a_run_stays_removed(home: Path) -> None:
    """No server is started in its place, and no folder made."""
    server = find_server(home, 60, environ={})
    with kept_up(server, home, 60):
        pid = state_of(home).pid
        shutil.rmtree(home)
        wait_until(lambda: not is_alive(pid), "the server is gone with its home", 12)
    assert not home.exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_it_ends_when_its_home_is_gone(home: Path, replaced: bool) -> None:
    """Removing the home, or putting another in its place, ends the server within seconds."""
    find_server(home, 60, environ={})
    pid = state_of(home).pid
    shutil.rmtree(home)
    if replaced:
        find_server(home, 60, environ={})
        assert state_of(home).pid != pid
    wait_until(lambda: not is_alive(pid), "the server is gone with its home", 12)


def test_a_record_that_names_anothers_port_is_not_believed(home: Path) -> None:
    """What listens on the recorded port must prove that it knows the secret, and is not told it."""
    heard: list[bytes] = []

    class Other(StreamRequestHandler):
        def handle(self) -> None:
            heard.append(self.rfile.readline())
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n{}")

    with ThreadingTCPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        (home / "prefect").mkdir(parents=True)
        (home / "prefect" / "auth").write_text("partner:secret-of-the-home")
        record = {"port": other.server_address[1], "pid": os.getpid(), "started_at_ms": 0, "prefect": "3.8.8"}
        (home / "prefect" / "server.json").write_text(json.dumps(record))
        assert server_state(home) is None
        assert stop_server(home) is False
        other.shutdown()
    assert len(heard) == 2
    assert all(b"secret-of-the-home" not in line for line in heard)


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    """The error carries the end of the log, and what to do."""
    (home / "prefect").mkdir(parents=True)
    (home / "prefect" / "prefect.db").write_text("no database at all, but long enough to be looked at" * 100)
    with pytest.raises(ServerFailed, match=r"(?s)did not start.*server\.log.*not a database.*→"):
        find_server(home, 60, environ={})


def test_the_server_that_the_user_names_is_used(prefect_server: PrefectServer, tmp_path: Path) -> None:
    """PREFECT_API_URL is used as it is, nothing is started, and the user's own credentials hold."""
    environ = {"PREFECT_API_URL": prefect_server.api_url, "PREFECT_API_AUTH_STRING": prefect_server.auth}
    found = find_server(tmp_path / "home", 60, environ=environ)
    assert (found.api_url, found.ui_url) == (prefect_server.api_url, prefect_server.ui_url)
    assert (found.is_ours, found.was_started, found.auth) == (False, False, "")
    assert not (tmp_path / "home").exists()
    with pytest.raises(ServerFailed, match=r"refuses us \(HTTP 401\)\n  → set PREFECT_API_AUTH_STRING"):
        find_server(tmp_path / "home", 60, environ=environ | {"PREFECT_API_AUTH_STRING": "partner:wrong"})


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "not a url", "http://[::1/api"])
def test_a_named_server_that_does_not_answer_is_an_error(tmp_path: Path, url: str) -> None:
    """It names the URL and the remedy at once, instead of waiting or starting another server."""
    began_s = monotonic()
    with pytest.raises(ServerFailed, match=r"PREFECT_API_URL=.*\n  → start it, correct PREFECT_API_URL, or unset it"):
        find_server(tmp_path, 60, environ={"PREFECT_API_URL": url})
    assert monotonic() - began_s < 30


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is not Prefect's API"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", r"does not answer as Prefect does \(HTTP 404\)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no Prefect server answers"),
    ],
)
def test_what_is_named_and_is_no_prefect_server_is_an_error(tmp_path: Path, answer: bytes, said: str) -> None:
    """As when the URL is that of the pages and not of the API: said at once, and not by Prefect's client later."""

    class Other(StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(answer)

    with ThreadingTCPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        with pytest.raises(ServerFailed, match=said):
            find_server(tmp_path, 60, environ={"PREFECT_API_URL": f"http://127.0.0.1:{other.server_address[1]}"})
        other.shutdown()


def test_a_named_server_that_hangs_is_an_error(tmp_path: Path) -> None:
    """One that accepts and then says nothing is given five seconds."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began_s = monotonic()
        with pytest.raises(ServerFailed, match="timed out"):
            find_server(tmp_path, 60, environ={"PREFECT_API_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/api"})
        assert monotonic() - began_s < 30
