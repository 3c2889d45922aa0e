"""Sessions: apart from each other, shared by clients, gone when closed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fakes.backends import Desk, Place
from sandbox import Cell, Limits, SessionIsBusy, SessionIsGone, SessionSpec, UnfitWorkDirectory


def test_who_asks_for_a_name_again_gets_the_same_session(place: Place, desk: Desk) -> None:
    """A second client finds the variables of the first."""
    desk.run("x = 41")
    again = place.backend.open_session(SessionSpec(name=desk.session.info.name, work=str(desk.work)))
    assert again.is_new is False
    assert again.run(Cell(code="x + 1")).outputs[0]["data"]["text/plain"] == "42"
    again.release()
    assert desk.value("x") == "41"


def test_a_session_runs_one_cell_at_a_time(place: Place, desk: Desk) -> None:
    """A second cell while one runs is refused at once, and the first goes on."""
    again = place.backend.open_session(SessionSpec(name=desk.session.info.name, work=str(desk.work)))
    started = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        cell = Cell(code="print('go', flush=True); import time; time.sleep(1.5); 'done'")
        first = pool.submit(desk.session.run, cell, lambda _output: started.set())
        assert started.wait(10)
        with pytest.raises(SessionIsBusy, match="is running a cell"):
            again.run(Cell(code="1"))
        assert first.result().ok
    again.release()


def test_a_work_directory_has_one_session(place: Place, desk: Desk) -> None:
    """Two sessions in one folder would not know each other's changes."""
    with pytest.raises(SessionIsBusy, match="another session"):
        place.backend.open_session(SessionSpec(name="other", work=str(desk.work)))


def test_a_closed_session_is_gone(place: Place) -> None:
    """Its variables are lost, and the error says what to do; a new one can be opened in its place."""
    with place.session() as desk:
        spec = SessionSpec(name=desk.session.info.name, work=str(desk.work))
        other = place.backend.open_session(spec)
        desk.session.close()
        with pytest.raises(SessionIsGone) as gone:
            other.run(Cell(code="1"))
        assert "replay" in gone.value.remedy
        other.close()
        fresh = place.backend.open_session(spec)
        assert fresh.is_new
        assert fresh.run(Cell(code="1")).ok
        fresh.close()


def test_files_outlive_their_session(place: Place) -> None:
    """What one session wrote, the next one in the same folder reads and changes."""
    with place.session() as desk:
        desk.run("import os; os.mkdir('d'); open('d/kept.txt', 'w').write('one')")
        spec = SessionSpec(name="next", work=str(desk.work))
    session = place.backend.open_session(spec)
    result = session.run(Cell(code="open('d/kept.txt', 'a').write(' two'); open('d/kept.txt').read()"))
    session.close()
    assert result.outputs[0]["data"]["text/plain"] == "'one two'"


def test_twenty_sessions_at_once(place: Place) -> None:
    """Each keeps its own variables and files, and none waits for another's long cell."""
    with ThreadPoolExecutor(20) as pool:

        def use(number: int) -> str:
            with place.session() as desk:
                desk.run(f"x = {number}; import time; time.sleep(.2)")
                desk.run("import os; os._exit(1)")
                return desk.value("x")

        assert list(pool.map(use, range(20))) == [str(number) for number in range(20)]


def test_a_sessions_info_names_its_walls(desk: Desk) -> None:
    """What is enforced is shown: each needed wall and what it stands by."""
    info = desk.session.info
    assert {"files", "network", "identity", "processes", "metadata"} == info.walls.keys()
    assert info.uid != 0
    assert info.memory_by in ("cgroup", "watchdog")


@pytest.mark.parametrize("work", ["relative", "/", "/tmp", "/no/such/folder"])
def test_an_unfit_work_directory_is_refused(place: Place, work: str) -> None:
    """Cells own their work directory, so it is one made for them, named in full."""
    with pytest.raises(UnfitWorkDirectory):
        place.backend.open_session(SessionSpec(name="unfit", work=work))


def test_a_work_directory_behind_a_link_is_refused(place: Place) -> None:
    """The real path is asked for."""
    (place.top / "link").symlink_to(place.folder())
    with pytest.raises(UnfitWorkDirectory, match="leads to"):
        place.backend.open_session(SessionSpec(name="unfit", work=str(place.top / "link")))
    (place.top / "link").unlink()


def test_a_check_reads_what_it_is_given_and_writes_nothing(place: Place, tmp_path: Path) -> None:
    """Code that checks runs in a fork of its own, on copies of the files, by the names it is told."""
    secret = tmp_path / "objects" / "ab"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("a,b\n1,2\n")
    secret.chmod(0o400)
    if place.owner != 0:
        tmp_path = place.folder()
        secret = tmp_path / "object"
        secret.write_text("a,b\n1,2\n")
        secret.chmod(0o444)
    files = {"kpis.csv": secret, "deep/er.csv": secret}
    result = place.backend.check(
        "import pandas as pd; pd.read_csv('kpis.csv').shape, len(open('deep/er.csv').read())", files, Limits()
    )
    assert result.ok, result.detail
    assert result.outputs[0]["data"]["text/plain"] == "((1, 2), 8)"
    for code in (
        "open('new', 'w')",
        "open('kpis.csv', 'a')",
        "import os; os.remove('kpis.csv')",
        "import os; os.mkdir('deep/x')",
    ):
        assert place.backend.check(code, files, Limits()).cause == "error"
    assert secret.read_text() == "a,b\n1,2\n"


def test_nothing_of_one_check_is_left_for_another(place: Place) -> None:
    """Each has variables, a folder and temporary files of its own, right after another one and beside it."""
    given = place.top / "given"
    given.write_text("a")
    given.chmod(0o444)
    look = "import os, tempfile; print(sum([1, 2]), 'x' in dir(), os.listdir('.'), os.listdir(tempfile.gettempdir()))"
    leave = "x, sum = 1, max; open(tempfile.mkstemp()[1], 'w').write('left')"

    def check(number: int) -> str:
        return place.backend.check(f"{look}\n{leave}", {f"f{number}": given}, Limits()).text("stdout")

    with ThreadPoolExecutor(4) as pool:
        found = [check(0), check(1), *pool.map(check, range(2, 10))]
    assert found == [f"3 False ['f{number}'] []\n" for number in range(10)]
    given.unlink()


def test_a_check_that_goes_on_after_its_end_says_nothing_in_the_next(place: Place) -> None:
    """Threads, processes and words that a check leaves behind end with it; the next one's kernel is its own."""
    linger = """
import os, subprocess, sys, tempfile, threading
def talk():
    while True:
        os.write(1, b"forged\\n")
        with open(tempfile.gettempdir() + "/left", "w") as file:
            file.write("x")
threading.Thread(target=talk, daemon=True).start()
if os.fork() == 0:
    talk()
subprocess.Popen([sys.executable, "-c", "while True: print('forged', flush=True)"])
print("first")
"""
    look = "import os, tempfile, threading; print(os.listdir(tempfile.gettempdir()), threading.active_count())"
    for _ in range(3):
        assert "first" in place.backend.check(linger, {}, Limits()).text("stdout")
        after = place.backend.check(look, {}, Limits())
        assert (after.text("stdout"), after.killed_processes) == ("[] 1\n", 0)


def test_a_check_has_its_limits(place: Place) -> None:
    """A check that never ends is stopped like any cell."""
    result = place.backend.check("while True: pass", {}, Limits(timeout_s=0.5))
    assert result.cause == "timeout"


@pytest.mark.parametrize("name", ["../x", "/x", "", "a/../../x"])
def test_a_check_refuses_names_that_lead_out(place: Place, name: str) -> None:
    """Names are relative, and stay inside."""
    with pytest.raises(UnfitWorkDirectory):
        place.backend.check("1", {name: Path("/dev/null")}, Limits())


def test_temporary_files_do_not_count_as_the_sessions(desk: Desk) -> None:
    """TMPDIR and HOME are outside the work directory, so scratch files are no results; they go with the session."""
    result = desk.run("import tempfile, os; f = tempfile.mkstemp()[1]; print(f); os.path.expanduser('~')")
    assert result.touched.created == ()
    scratch = Path(result.text("stdout").strip())
    assert scratch.exists()
    desk.session.close()
    assert not scratch.parent.exists()
