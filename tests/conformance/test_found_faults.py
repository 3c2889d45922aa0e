"""Faults that an attacker found, each as it was found."""

import os
import threading
import time
from pathlib import Path

import pytest

from fakes.backends import Desk, Place
from sandbox import Cell, Limits, SessionIsBusy, SessionSpec, UnfitWorkDirectory

MEBIBYTE = 1 << 20


def _may_trace() -> bool:
    lines = Path("/proc/self/status").read_text().splitlines()
    return bool(int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16) >> 19 & 1)


def test_a_check_follows_no_link(place: Place, desk: Desk) -> None:
    """A file that a cell made a link to elsewhere is not read for it, nor a file behind a linked folder."""
    secret = place.folder() / "secret"
    secret.write_text("hunter2")
    desk.run(f"import os; os.symlink({str(secret)!r}, 'out.csv'); os.symlink({str(secret.parent)!r}, 'folder')")
    for path in (desk.work / "out.csv", desk.work / "folder" / "secret", Path("/dev/null"), desk.work):
        with pytest.raises(UnfitWorkDirectory):
            place.backend.check("print(open('o').read())", {"o": path}, Limits())


def test_folders_that_nest_very_deep_are_removed_and_stopped(place: Place) -> None:
    """A tree deeper than Python's recursion goes neither stops the host nor stays behind."""
    with place.session() as desk:
        dig = "import os, tempfile\nos.chdir({0})\nfor _ in range(1200):\n    os.mkdir('d'); os.chdir('d')\nos.chdir({1!r})"
        assert desk.run(dig.format("tempfile.gettempdir()", str(desk.work))).ok
        assert desk.run(dig.format(repr(str(desk.work)), str(desk.work))).ok
        scratch = Path(desk.value("import tempfile; tempfile.gettempdir()").strip("'"))
        spec = SessionSpec(name="deep", work=str(desk.work))
    assert not scratch.exists()
    session = place.backend.open_session(spec)
    assert session.run(Cell(code="import subprocess; subprocess.run(['rm', '-rf', 'd'], check=True)")).ok
    session.close()


@pytest.mark.parametrize("code", ["import os; os.chmod('.', 0)", "import os; os.mkdir('shut'); os.chmod('shut', 0)"])
def test_a_cell_that_shuts_its_folder_shuts_only_itself_out(place: Place, desk: Desk, code: str) -> None:
    """The host goes on for everybody, and a reset opens the folder again."""
    desk.run(code)
    desk.session.reset()
    assert desk.value("open('x', 'w').write('y')") == "1"
    with place.session() as other:
        assert other.value("1") == "1"


def test_a_kernel_that_dies_between_cells_runs_nothing_in_secret(desk: Desk) -> None:
    """The next cell is told as not run, and is not run; the one after it is."""
    desk.run(
        "import threading, os, time\ndef bye():\n    time.sleep(.3); os._exit(3)\nthreading.Thread(target=bye).start()"
    )
    time.sleep(1)
    result = desk.run("open('ghost', 'w').write('ran')")
    assert (result.ok, result.state) == (False, "lost")
    assert result.detail == "not run: between cells, the session ended its process (exit code 3)"
    assert desk.value("import time; time.sleep(.5); import os; os.path.exists('ghost')") == "False"


def test_a_stopped_kernel_does_not_hold_up_its_caller(desk: Desk) -> None:
    """A large cell sent to a kernel that reads nothing comes back, and the session goes on."""
    desk.run(
        "import threading, os, signal, time\ndef stop():\n    time.sleep(.3); os.kill(os.getpid(), signal.SIGSTOP)\nthreading.Thread(target=stop).start()"
    )
    time.sleep(0.6)
    assert desk.run("#" + "x" * 2_000_000, timeout_s=2).ok is False
    assert desk.value("1") == "1"


def test_frames_of_others_are_not_gathered(desk: Desk) -> None:
    """Processes that speak on the kernel's socket cannot make the host hold what they say."""
    flood = (
        "import os, socket, stat\nfds = [fd for fd in range(3, 64) if os.path.exists('.')]\nchannel = None\nfor fd in fds:\n"
        "    try:\n        if stat.S_ISSOCK(os.fstat(fd).st_mode): channel = fd\n    except OSError: pass\n"
        "for _ in range(10):\n    if os.fork() == 0:\n        s = socket.socket(fileno=channel)\n"
        "        for _ in range(200): s.send(b'+' + b'a' * 60000)\n        os._exit(0)\n    os.wait()"
    )
    assert desk.run(flood, checkpoint="off", timeout_s=60).ok
    assert desk.value("1") == "1"


def test_a_display_counts_whole(place: Place) -> None:
    """Metadata and names count like content, and what is too large is a note, not the end of the cell."""
    with place.session(limits={"display_bytes": MEBIBYTE}) as desk:
        result = desk.run("display({'text/plain': ''}, raw=True, metadata={'x': 'a' * 30_000_000})\n'went on'")
        assert result.ok
        assert "left out" in result.outputs[0]["data"]["text/plain"]
        assert desk.run("'x' * 70_000_000").ok
        assert desk.run("raise ValueError('x' * 70_000_000)").cause == "error"


@pytest.mark.parametrize("code", ["raise OSError('failed', 'reason')", "e = OSError(1, 'x'); e.errno = [1]; raise e"])
def test_odd_exceptions_are_results(desk: Desk, code: str) -> None:
    """An exception with strange fields is the cell's error, and the session goes on."""
    assert desk.run(f"x = 41\n{code}").cause == "error"
    assert desk.value("x") == "41"


def test_files_move_between_folders(desk: Desk) -> None:
    """Renaming from one folder into another works, where the kernel's Landlock knows it (5.19)."""
    if desk.session.info.landlock_abi < 2:
        pytest.skip("Landlock 1 forbids it")
    assert desk.run("import os; open('a', 'w').write('x'); os.mkdir('q'); os.rename('a', 'q/a')").touched.created == (
        "q/a",
    )


def test_redirected_streams_come_back(desk: Desk) -> None:
    """A cell that closes or redirects its output does so for itself only."""
    desk.run("import os; fd = os.open('/dev/null', os.O_WRONLY); os.dup2(fd, 1)")
    assert desk.run("print('heard')").text("stdout") == "heard\n"
    desk.run("import os; os.close(1); os.close(2)")
    assert desk.run("print('heard')").text("stdout") == "heard\n"


@pytest.mark.parametrize("code", ["%matplotlib inline", "exit()", "quit", "%timeit -n1 -r1 1", "%%bash\necho x"])
def test_magics_that_people_use(desk: Desk, code: str) -> None:
    """Common magics work or do nothing; none breaks the session."""
    result = desk.run(code)
    assert result.ok, result.detail
    assert desk.value("1") == "1"


def test_paths_are_told_as_seen_from_the_work_directory(desk: Desk) -> None:
    """After a change of folder, relative names are not mistaken for those of the work directory."""
    touched = desk.run(
        "import os, tempfile\nos.chdir(tempfile.gettempdir())\ntry:\n    open('absent' + '.txt')\nexcept OSError:\n    pass"
    ).touched
    assert touched.missed == ()


def test_unlinked_files_count_on_disk(place: Place) -> None:
    """A file without a name takes as much as any other, where the host may see the open files of another user."""
    if place.owner == 0 and not _may_trace():
        pytest.skip("root in this container has no CAP_SYS_PTRACE")
    with place.session(limits={"disk_bytes": 16 * MEBIBYTE}) as desk:
        code = "import os, time\nf = open('u', 'wb'); os.unlink('u')\nfor _ in range(100):\n    f.write(bytes(1 << 20)); f.flush(); time.sleep(.03)"
        assert desk.run(code, timeout_s=30).cause == "limit"


def test_leases_on_files_are_refused(desk: Desk) -> None:
    """A cell cannot make the owner of its files wait."""
    assert desk.run("import fcntl; f = open('x', 'w'); fcntl.fcntl(f, 1024, fcntl.F_WRLCK)").cause == "error"


def test_a_session_inside_anothers_folder_is_refused(place: Place, desk: Desk) -> None:
    """Who owns a folder can move what is in it, so no other session lives there, or above."""
    desk.run("import os; os.mkdir('inner')")
    for work in (desk.work / "inner", desk.work.parent):
        with pytest.raises(SessionIsBusy):
            place.backend.open_session(SessionSpec(name="nested", work=str(work)))


def test_closing_a_session_ends_its_cell(place: Place) -> None:
    """Whoever waits for the cell is told, and nothing of it runs on."""
    with place.session() as desk:
        threading.Timer(0.5, desk.session.close).start()
        began = time.monotonic()
        assert desk.run("import time; time.sleep(60)").ok is False
        assert time.monotonic() - began < 20


def test_folders_swapped_for_links_are_not_looked_through(place: Place) -> None:
    """A cell that swaps a folder and a link all the time learns and shows nothing of what is outside."""
    outside = place.folder()
    (outside / "id_of_owner").write_text("x")
    os.chmod(outside, 0o755)
    with place.session() as desk:
        swap = (
            f"import os, threading, time\nos.mkdir('sub'); os.symlink({str(outside)!r}, 'lnk')\ngo = True\ndef swap():\n"
            "    while go:\n        os.rename('sub', 't'); os.rename('lnk', 'sub'); os.rename('t', 'lnk')\n        time.sleep(.0005)\n"
            "threading.Thread(target=swap, daemon=True).start()"
        )
        desk.run(swap)
        for _ in range(15):
            touched = desk.run("1", checkpoint="off").touched
            assert not any("id_of_owner" in path for path in (*touched.created, *touched.read, *touched.changed))
        desk.run("go = False")
