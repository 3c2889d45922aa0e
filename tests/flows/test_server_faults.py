"""Prefect's server is gone before, during or at the end of a run: nothing of the run is lost."""

import os
import subprocess
import sys
from pathlib import Path

from fakes.kitchen import Kitchen
from fakes.prefect_server import wait_until
from partner.launch import find_server, server_state, stop_server

WAITS = (
    'import os, time\nopen("begun.txt", "w").write("begun")\n'
    'while not os.path.exists("go.txt"):\n    time.sleep(0.05)\n'
)


def environment(kitchen: Kitchen, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return {**kept, "PARTNER_RECIPES": str(kitchen.recipes), "PARTNER_HOST_IDLE_S": "5", **more}


def start(kitchen: Kitchen, name: str, variables: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "partner", "--home", str(kitchen.home.root), "run", name]
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def cell_at_work(kitchen: Kitchen, process: subprocess.Popen[str]) -> Path:
    def begun() -> list[Path]:
        assert process.poll() is None, process.stderr and process.stderr.read()
        return list(kitchen.home.runs.glob("*-*/tmp/begun.txt"))

    wait_until(begun, "the cell begins")
    return begun()[0].parents[1]


def let_go(folder: Path) -> None:
    (folder / "tmp" / "go.txt").write_text("go")
    owner = (folder / "tmp").stat()
    os.chown(folder / "tmp" / "go.txt", owner.st_uid, owner.st_gid)


def test_down_at_the_start(kitchen: Kitchen) -> None:
    """A server that does not answer is an error that names it, before anything is run: exit 1."""
    kitchen.write("short", {"short": "1"})
    process = start(kitchen, "short", environment(kitchen, PREFECT_API_URL="http://127.0.0.1:9/api"))
    _, said = process.communicate(timeout=180)
    assert process.returncode == 1
    assert "http://127.0.0.1:9/api" in said
    assert "nothing was run" in said
    assert list(kitchen.home.run_ids()) == []


def test_our_own_server_killed_during_a_run_is_started_again(kitchen: Kitchen) -> None:
    """The run goes on, ends well, and Prefect's server knows of it."""
    kitchen.write("waits", {"waits": WAITS, "after": 'open("after.txt", "w").write("after")'})
    process = start(kitchen, "waits", environment(kitchen))
    try:
        folder = cell_at_work(kitchen, process)
        first = server_state(kitchen.home.root)
        assert first
        os.kill(first.pid, 9)
        wait_until(lambda: (state := server_state(kitchen.home.root)) and state.pid != first.pid, "another server")
        let_go(folder)
        _, said = process.communicate(timeout=120)
        ran = kitchen.ran(folder.name)
        assert process.returncode == 0, said
        assert ran.state.name == "done"
        assert set(ran.cached()) == {"waits", "after"}
    finally:
        process.kill()
        stop_server(kitchen.home.root)


def test_somebody_elses_server_gone_for_good(kitchen: Kitchen) -> None:
    """The run goes on without it and is whole; the command says that the server could not be told."""
    other = kitchen.top / "other home"
    server = find_server(other, 120, environ={})
    variables = environment(
        kitchen,
        PREFECT_API_URL=server.api_url,
        PREFECT_API_AUTH_STRING=server.auth,
        PREFECT_CLIENT_MAX_RETRIES="0",
    )
    kitchen.write("waits", {"waits": WAITS, "after": 'open("after.txt", "w").write("after")'})
    process = start(kitchen, "waits", variables)
    try:
        folder = cell_at_work(kitchen, process)
        assert stop_server(other)
        let_go(folder)
        _, said = process.communicate(timeout=120)
        ran = kitchen.ran(folder.name)
        assert ran.state.name == "done", said
        assert set(ran.cached()) == {"waits", "after"}
        assert ran.state.pending == {}
        assert process.returncode == 0, said
        assert "the run is complete" in said
    finally:
        process.kill()
        stop_server(other)
