"""Cells that are run again for their variables, and runs that wait for another one doing the same."""

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import flows.frame
from fakes.kitchen import Kitchen, Observer, Ran
from fakes.prefect_server import wait_until
from three_tools.run import Run

CELLS = {
    "a": 'import os, time\ntime.sleep({0})\nx = 1\nopen("a.txt", "w").write("a")',
    "b": 'open("b.txt", "w").write("b")',
    "c": 'open("c.txt", "w").write(str(x))',
}


class Follower(Observer):
    """Holds on to the run, to cancel it."""

    run: Run

    def opened(self, run: Run, recipe: object) -> None:
        super().opened(run, recipe)  # pyright: ignore[reportArgumentType]  (not looked at)
        self.run = run


@contextmanager
def beside(act: Callable[[], Ran]) -> Iterator[list[Ran]]:
    """While that goes on."""
    found: list[Ran] = []
    thread = threading.Thread(target=contextvars.copy_context().run, args=(lambda: found.append(act()),))
    thread.start()
    try:
        yield found
    finally:
        thread.join()


def begun(kitchen: Kitchen) -> None:
    wait_until(lambda: list(kitchen.home.runs.glob("*-*/tmp/begun.txt")), "the cell begins")


def test_a_replay_that_fails_leaves_the_files_as_they_were(kitchen: Kitchen) -> None:
    """What earlier cells made is there, and in the record."""
    once = f'import os\nassert not os.path.exists("{kitchen.top}/late")\n'
    cells = {**CELLS, "a": f"{once}{CELLS['a'].format(0)}"}
    kitchen.write("fails", cells)
    assert kitchen.run("fails").error is None
    (kitchen.top / "late").touch()
    kitchen.write("fails", {**cells, "c": f"{CELLS['c']}\nprint()"})
    ran = kitchen.run("fails")
    assert "had to be run again for its variables, and failed: AssertionError" in str(ran.error)
    assert (ran.file("a.txt"), ran.file("b.txt")) == (b"a", b"b")
    assert {"a.txt", "b.txt"} <= ran.state.files.keys()


def test_no_cell_is_run_twice_in_one_kernel(kitchen: Kitchen) -> None:
    """One that was run, and is needed with an earlier one that was not, changes its module once only."""
    cells = {
        "load": "numbers = [1, 2]",
        "style": 'import matplotlib.pyplot as plt\nplt.rcParams["font.size"] *= 2',
        "go": 'import os\nos.mkdir("out")\nos.chdir("out")',
        "use": 'open("size.txt", "w").write(f"{numbers} {plt.rcParams[\'font.size\']}")',
    }
    kitchen.write("twice", cells)
    kitchen.run("twice")
    kitchen.write("twice", {**cells, "style": 'import matplotlib.pyplot as plt\nplt.rcParams["font.size"] *= 1.5'})
    ran = kitchen.run("twice")
    assert ran.cached() == {"load": True, "style": False, "go": False, "use": False}
    assert ran.file("out/size.txt") == b"[1, 2] 15.0"


def test_a_database_that_a_variable_holds_open_is_the_one_in_the_folder(kitchen: Kitchen) -> None:
    """Also when a cell that changed it was taken over, after the one that opened it was run."""
    cells = {
        "fill": 'import sqlite3\ncon = sqlite3.connect("a.db")\ncon.execute("create table t (n)")\ncon.commit()',
        "more": 'import sqlite3\nwith sqlite3.connect("a.db") as other:\n    other.execute("insert into t values (7)")',
        "use": 'open("out.txt", "w").write(str(con.execute("select n from t").fetchall()))',
    }
    kitchen.write("holds", cells)
    kitchen.run("holds")
    kitchen.write("holds", {**cells, "use": f"{cells['use']}\nprint()"})
    replayed = kitchen.run("holds")
    assert replayed.cached() == {"fill": True, "more": True, "use": False}
    kitchen.write("holds", {**cells, "fill": f"{cells['fill']}\nprint()"})
    run = kitchen.run("holds")
    assert run.cached() == {"fill": False, "more": True, "use": False}
    assert (replayed.file("out.txt"), run.file("out.txt")) == (b"[(7,)]", b"[(7,)]")


@pytest.mark.parametrize("mode", ["a", "w"])
def test_a_log_has_what_every_cell_wrote_to_it(kitchen: Kitchen, mode: str) -> None:
    """Cells write to it in turn, and only some of them are taken over."""
    cells = {
        "begin": (
            f'import logging\nlogging.basicConfig(filename="run.log", filemode="{mode}", level="INFO", '
            'format="%(relativeCreated)s %(message)s", force=True)\nlogging.info("begin")'
        ),
        "a": 'import logging\nlogging.info("a")',
        "b": 'import logging\nlogging.info("b")',
        "c": 'import logging\nlogging.info("c")',
    }
    kitchen.write("logs", cells)
    kitchen.run("logs")
    kitchen.write("logs", {**cells, "b": f"{cells['b']}\nprint()"})
    ran = kitchen.run("logs")
    assert [line.split()[1] for line in ran.file("run.log").decode().splitlines()] == ["begin", "a", "b", "c"]
    assert ran.cached()["a"] == (mode == "a")


def test_a_cell_that_fails_with_variables_that_were_made_again_has_them_anew(kitchen: Kitchen) -> None:
    """A file's name may hold the time: the kept file has another than the variable, but only once."""
    cells = {
        "a": 'import os\nname = os.urandom(4).hex() + ".txt"\nopen(name, "w").write("a")',
        "b": 'open("b.txt", "w").write(open(name).read())',
    }
    kitchen.write("named", cells)
    kitchen.run("named")
    kitchen.write("named", {**cells, "b": f"{cells['b']}\nprint()"})
    assert "was run again for its variables" in str(kitchen.run("named").error)
    ran = kitchen.run("named")
    assert (ran.error, ran.cached(), ran.file("b.txt")) == (None, {"a": False, "b": False}, b"a")


def test_a_replay_that_is_cancelled_leaves_the_files_as_they_were(kitchen: Kitchen) -> None:
    """And the run is cancelled, not failed."""
    cells = {**CELLS, "a": CELLS["a"].format(2)}
    kitchen.write("slow", cells)
    kitchen.run("slow")
    kitchen.write("slow", {**cells, "c": f"{CELLS['c']}\nprint()"})
    watch = Follower()
    watch.on_began = lambda name: threading.Timer(1, watch.run.cancel).start() if name == "c" else None
    ran = kitchen.run("slow", watch)
    assert ran.state.name == "cancelled"
    assert ran.attempts("c") == [(False, "cancelled", "FAIL")]
    assert {"a.txt", "b.txt"} <= ran.state.files.keys()
    assert ran.file("b.txt") == b"b"


def test_a_run_that_is_cancelled_before_its_first_cell_is_no_failure(kitchen: Kitchen) -> None:
    """Its kernel has not been told the parameters yet."""
    kitchen.write("early", {"a": "x = 1"})
    watch = Follower()
    watch.on_began = lambda name: watch.run.cancel() if name == "a" else None
    ran = kitchen.run("early", watch)
    assert (ran.state.name, ran.attempts("a")) == ("cancelled", [(False, "cancelled", "FAIL")])


def test_what_uses_a_variable_runs_again_when_that_was_made_anew(kitchen: Kitchen) -> None:
    """A cell that makes another value each time, and has to be run, brings those after it along."""
    cells = {
        "a": 'import os\nvalue = os.urandom(4).hex()\nopen("a.txt", "w").write(value)',
        "b": 'open("b.txt", "w").write("b" + value)',
    }
    kitchen.write("random", cells)
    first = kitchen.run("random")
    kitchen.home.objects.path(first.state.files["a.txt"].artifact.sha256).unlink()
    second = kitchen.run("random")
    assert second.cached() == {"a": False, "b": False}
    assert second.file("b.txt") == b"b" + second.file("a.txt")
    assert kitchen.run("random").cached() == {"a": True, "b": True}


def test_a_step_that_was_tried_twice_is_run_again_without_a_word(kitchen: Kitchen) -> None:
    """What it made of what its first try left is kept for nobody, and nothing of it is damaged."""
    flaky = (
        'import os\ntries = len([name for name in os.listdir() if name.startswith("try-")])\n'
        'open(f"try-{tries}", "w").write("x")\nassert tries > 0'
    )
    kitchen.write("again", {"flaky": flaky}, "[cells.flaky]\nretries = 2\nretry_delay_s = 0\n")
    kitchen.run("again")
    ran = kitchen.run("again")
    assert (ran.error, ran.cached(), ran.notes) == (None, {"flaky": False}, [])


def test_waiting_for_another_run_takes_nothing_of_a_cells_time(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two fails late; the second has all its time for itself."""
    monkeypatch.setattr(flows.frame, "_GRACE_S", 1.0)
    slow = 'import time\nopen("begun.txt", "w").write("begun")\ntime.sleep(3)'
    kitchen.write("waits", {"a": slow}, "[cells.a]\ntimeout_s = 4\n")
    first, second = Follower(), Observer()
    with beside(lambda: kitchen.run("waits", first)):
        begun(kitchen)
        second.on_began = lambda name: threading.Timer(2.5, first.run.cancel).start() if name == "a" else None
        ran = kitchen.run("waits", second)
    assert (ran.error, ran.attempts("a")) == (None, [(True, "", "PASS")])


def test_running_cells_again_takes_nothing_of_a_cells_time(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that has a second for itself may need one that takes longer."""
    monkeypatch.setattr(flows.frame, "_GRACE_S", 1.0)
    cells = {**CELLS, "a": CELLS["a"].format(3)}
    kitchen.write("slow", cells, "[cells.c]\ntimeout_s = 1\n")
    kitchen.run("slow")
    kitchen.write("slow", {**cells, "c": f"{CELLS['c']}\nprint()"}, "[cells.c]\ntimeout_s = 1\n")
    ran = kitchen.run("slow")
    assert (ran.error, ran.cached()) == (None, {"a": True, "b": True, "c": False})


def test_a_run_that_waits_for_another_can_be_cancelled(kitchen: Kitchen) -> None:
    """It does not wait for the other's end."""
    kitchen.write("waits", {"a": 'import time\nopen("begun.txt", "w").write("begun")\ntime.sleep(60)'})
    first, second = Follower(), Follower()
    with beside(lambda: kitchen.run("waits", first)):
        begun(kitchen)
        second.on_began = lambda name: threading.Timer(0.5, second.run.cancel).start() if name == "a" else None
        ran = kitchen.run("waits", second)
        assert (ran.state.name, ran.cached()) == ("cancelled", {})
        assert kitchen.ran(first.run_id).state.name == "open"
        first.run.cancel()


def test_of_two_runs_that_refresh_at_once_none_takes_anything_over(kitchen: Kitchen) -> None:
    """Each was asked to do everything anew."""
    kitchen.write("slow", {"a": 'import time\ntime.sleep(0.5)\nopen("a.txt", "w").write("a")'})
    with beside(lambda: kitchen.run("slow", refresh=True)) as found:
        ran = kitchen.run("slow", refresh=True)
    assert [each.cached() for each in (ran, *found)] == [{"a": False}] * 2


def test_a_replay_that_makes_other_files_is_noted_and_done_anew_next_time(kitchen: Kitchen) -> None:
    """What the variables say and what the files say is from one hand again in the next run."""
    cells = {"a": 'import uuid\nx = str(uuid.uuid4())\nopen("a.txt", "w").write(x)', "b": 'open("b.txt", "w").write(x)'}
    kitchen.write("chance", cells)
    first = kitchen.run("chance")
    assert first.file("a.txt") == first.file("b.txt")
    kitchen.write("chance", {**cells, "b": f"{cells['b']}\nprint()"})
    second = kitchen.run("chance")
    assert second.cached() == {"a": True, "b": False}
    assert any("'a' was run again for its variables, and made other files" in note for note in second.notes)
    third = kitchen.run("chance")
    assert third.cached() == {"a": False, "b": False}
    assert third.file("a.txt") == third.file("b.txt")
