"""The sandbox host: started on demand, for its owner only, and nothing is left when it is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from fakes.backends import Place, local_jail, modes_here
from sandbox import Cell, HostStatus, Limits, LocalJail, NoSafeSandbox, SandboxFailed, SessionSpec
from sandbox.frames import FrameReader, encode


@pytest.fixture(params=modes_here())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A host of this test's own: it may be killed."""
    with local_jail(request.param) as place:
        yield place


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A host that several tests look at, each leaving it as it was; how its walls are built does not matter."""
    with local_jail(modes_here()[0]) as place:
        yield place


def jail(place: Place) -> LocalJail:
    return cast("LocalJail", place.backend)


def status(place: Place) -> HostStatus:
    found = jail(place).status()
    assert found is not None
    return found


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return False


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    pending = [pid]
    while pending:
        for task in Path(f"/proc/{pending.pop()}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                found.add(child)
                pending.append(child)
    return found


def alive(pids: set[int]) -> set[int]:
    def is_alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    return {pid for pid in pids if is_alive(pid)}


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
os.wait()
"""


def test_a_host_is_started_by_whoever_needs_it_first() -> None:
    """Nothing is up before; five who ask at once get the same host."""
    with local_jail(modes_here()[0]) as place:
        assert jail(place).status() is None
        with ThreadPoolExecutor(5) as pool:
            hosts = list(pool.map(lambda _: jail(place).start().pid, range(5)))
        assert len(set(hosts)) == 1


@pytest.mark.parametrize("victim", ["host", "zygote"])
def test_when_the_host_is_killed_nothing_is_left_behind(place: Place, victim: str) -> None:
    """Mid-cell, with a daemon detached: every process goes, the client is told, and the next session works."""
    with place.session() as desk, ThreadPoolExecutor(1) as pool:
        place.backend.check("1", {}, Limits())  # and the next one's session is made in advance
        running = pool.submit(desk.run, f"{DAEMON}time.sleep(300)", checkpoint="off")
        host = status(place)
        assert eventually(lambda: len(descendants(host.zygote)) >= 5)
        family = {host.pid, host.zygote} | descendants(host.pid)
        os.kill(host.pid if victim == "host" else host.zygote, signal.SIGKILL)
        with pytest.raises(SandboxFailed, match="variables are lost"):
            running.result(timeout=20)
        assert eventually(lambda: not alive(family)), alive(family)
    with place.session() as desk:
        assert desk.value("1 + 1") == "2"
        host = status(place)
        assert host.pid not in family


def test_a_new_host_clears_up_after_a_killed_one(place: Place) -> None:
    """Scratch folders and control groups of the old host are removed by the new one of the same home."""
    import tempfile

    with place.session() as desk:
        desk.run("1")
        name = jail(place).log_path.stem
        os.kill(status(place).pid, signal.SIGKILL)
        assert list(Path(tempfile.gettempdir()).glob(f"{name}-*"))
    jail(place).start()
    groups = [path for path in Path("/sys/fs/cgroup").rglob(f"{name}-s-*") if path.is_dir()]
    assert groups == []
    assert len(list(Path(tempfile.gettempdir()).glob(f"{name}-*"))) == 1  # the new host's own


def test_when_a_client_is_killed_its_cell_is_stopped_and_the_session_stays(shared: Place) -> None:
    """Nobody waits for the cell any more, so it is interrupted; another client goes on with the variables."""
    with shared.session() as desk:
        desk.run("x = 41")
        link = jail(shared)
        code = (
            "import socket, sys\nfrom sandbox.frames import send_json\n"
            f"s = socket.socket(socket.AF_UNIX); s.connect({str(link.log_path.with_suffix('.sock'))!r})\n"
            f"send_json(s, {{'op': 'run', 'session': {desk.session.info.name!r}, 'checkpoint': 'auto', 'limits': {{}},"
            " 'code': 'import time; time.sleep(300)'})\nprint('sent', flush=True)\nsys.stdin.read()"
        )
        client = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with client:
            assert client.stdout is not None
            client.stdout.readline()
            assert eventually(lambda: status(shared).sessions[0].is_busy)
            client.kill()
        assert eventually(lambda: not status(shared).sessions[0].is_busy)
        assert desk.value("x") == "41"


def test_idle_sessions_and_idle_hosts_end() -> None:
    """A session nobody uses is closed, and a host without sessions ends."""
    with local_jail(modes_here()[-1], session_idle_s=1, host_idle_s=2) as place:
        with place.session() as desk:
            desk.run("1")
            host = status(place)
            assert eventually(lambda: not status(place).sessions if jail(place).status() else True)
        assert eventually(lambda: jail(place).status() is None)
        assert eventually(lambda: not alive({host.pid, host.zygote}))
        assert not jail(place).log_path.with_suffix(".sock").exists()


def test_a_stopped_host_leaves_no_scratch_folder() -> None:
    """What a host made for itself goes when it ends."""
    with local_jail(modes_here()[0]) as place:
        import tempfile

        with place.session() as desk:
            desk.run("1")
        place.backend.check("1", {}, Limits())
        name = jail(place).log_path.stem
        jail(place).stop()
        left = Path(tempfile.gettempdir())
        is_clear = eventually(lambda: not list(left.glob(f"{name}-*")))
        assert is_clear, (list(left.glob(f"{name}-*/*")), jail(place).log_path.read_text())


@pytest.mark.parametrize(
    "garbage", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 5, b"\xff" * 64, encode(b"j", b"[1]"), encode(b"j", b"{}")]
)
def test_garbage_from_a_client_hurts_nobody(shared: Place, garbage: bytes) -> None:
    """Who does not speak the host's language is hung up on or told so, and others are served on."""
    jail(shared).start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(jail(shared).log_path.with_suffix(".sock")))
        client.settimeout(5)
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        try:
            answer = FrameReader(client, 1 << 20).read()
        except (ConnectionError, TimeoutError):
            answer = None
        assert answer is None or "error" in json.loads(answer[1])
    with shared.session() as desk:
        assert desk.value("1") == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_only_its_owner_reaches_a_host(shared: Place) -> None:
    """Another user can neither open the socket nor speak through it."""
    jail(shared).start()
    path = jail(shared).log_path.with_suffix(".sock")
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r})"
    command = ["/usr/bin/python3", "-c", code]
    done = subprocess.run(command, user=54_321, group=54_321, capture_output=True, cwd="/", check=False)
    assert b"PermissionError" in done.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user's cells are the plain user")
def test_a_folder_that_cells_cannot_get_to_is_refused_with_the_remedy() -> None:
    """As root cells run as another user, who must be able to pass."""
    with local_jail("root") as place:
        closed = place.folder("closed")
        closed.chmod(0o700)
        work = closed / "work"
        work.mkdir()
        with pytest.raises(NoSafeSandbox, match="cannot pass through") as refused:
            place.backend.open_session(SessionSpec(name="x", work=str(work)))
        assert "chmod o+x" in refused.value.remedy


def test_two_hosts_do_not_share_a_work_directory() -> None:
    """Another home, or another version, is another host; a folder belongs to one session of one of them."""
    mode = modes_here()[0]
    with local_jail(mode) as one, local_jail(mode) as other, one.session() as desk:
        from sandbox import SessionIsBusy

        with pytest.raises(SessionIsBusy):
            other.backend.open_session(SessionSpec(name="x", work=str(desk.work)))


def test_a_check_whose_session_died_in_advance_has_another(place: Place) -> None:
    """A session that was made in advance may be gone when it is wanted."""
    assert place.backend.check("1", {}, Limits()).ok
    zygote = status(place).zygote
    assert eventually(lambda: len(descendants(zygote)) == 2)
    family = descendants(zygote)
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not alive(family))
    assert place.backend.check("1", {}, Limits()).ok


def test_many_sessions_leave_nothing(shared: Place) -> None:
    """Thirty sessions opened and closed, and thirty checks: no descriptor, thread or process more than before."""

    def footprint() -> tuple[int, int, int]:
        host = status(shared)
        own = Path(f"/proc/{host.pid}")
        return len(list((own / "fd").iterdir())), len(list((own / "task").iterdir())), len(descendants(host.zygote))

    for _ in range(3):
        with shared.session() as desk:
            desk.run("1")
        shared.backend.check("1", {}, Limits())
    assert eventually(lambda: footprint()[2] == 2)  # what is left is the next check's session
    before = [max(counts) for counts in zip(*(footprint() for _ in range(20)), strict=True)]
    for _ in range(30):
        shared.backend.check("1", {}, Limits())
        with shared.session() as desk:
            desk.session.run(Cell(code="import os; os._exit(1)"))
    assert eventually(lambda: all(now <= then for now, then in zip(footprint(), before, strict=True)))
