"""What survives: variables outlive cells that are killed, crash or run out of memory."""

import time

import pytest

from fakes.backends import Desk, Place

DEADLY = {
    "os._exit": ("import os; os._exit(3)", "error"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "signal"),
    "abort": ("import os; os.abort()", "signal"),
    "kills itself": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal"),
    "replaces itself": ("import os; os.execv('/bin/true', ['true'])", "error"),
    "closes every descriptor": ("import os; os.closerange(0, 500)", "error"),
    "kills everything it can": ("import os, signal; os.kill(-1, signal.SIGKILL); os._exit(1)", None),
    "kills its parent": ("import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(1)", None),
}
STUBBORN = {
    "ignores SIGINT": "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)",
    "blocks in C": "sum(range(10**11))",
    "swallows everything": "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
}


@pytest.mark.parametrize(("code", "cause"), DEADLY.values(), ids=DEADLY.keys())
def test_a_deadly_cell_leaves_the_variables_of_before(desk: Desk, code: str, cause: str | None) -> None:
    """The result names the cause, and the next cell has the state from before the deadly one."""
    desk.run("x = 41")
    result = desk.run(f"x = 0\n{code}", timeout_s=20)
    assert cause is None or (result.cause, result.state) == (cause, "restored")
    if result.state == "lost":  # it may kill what keeps its state, which is its own
        desk.run("x = 41")
    assert desk.value("x") == ("0" if result.state == "kept" else "41")


@pytest.mark.parametrize("code", STUBBORN.values(), ids=STUBBORN.keys())
def test_a_stubborn_cell_is_killed_and_its_variables_are_restored(desk: Desk, code: str) -> None:
    """What two interrupts do not stop is killed; the answer comes in time, with the state from before."""
    desk.run("x = 41")
    began = time.monotonic()
    result = desk.run(f"x = 0\n{code}", timeout_s=0.5)
    assert time.monotonic() - began < 10
    assert (result.cause, result.fault, result.state) == ("timeout", "limit", "restored")
    assert result.detail == "still running after 0.5 s (interrupted twice, then killed)"
    assert desk.value("x") == "41"


@pytest.mark.parametrize(
    "code", ["while True: pass", "import time; time.sleep(60)", "import re; re.match('(a+)+$', 'a' * 40 + 'b')"]
)
def test_a_cell_that_can_be_interrupted_keeps_its_variables(desk: Desk, code: str) -> None:
    """One interrupt stops loops, sleeps and regular expressions, and what the cell did so far stays."""
    result = desk.run(f"x = 1\n{code}", timeout_s=0.5)
    assert (result.cause, result.state) == ("timeout", "kept")
    assert desk.value("x") == "1"


@pytest.mark.parametrize("program", ["subprocess.run(['sleep', '60'])", "os.system('sleep 60')"])
def test_a_program_that_a_cell_waits_for_is_interrupted_too(desk: Desk, program: str) -> None:
    """The interrupt reaches the program as well, so that waiting for it ends."""
    result = desk.run(f"import os, subprocess; {program}", timeout_s=0.5)
    assert result.cause in ("timeout", None)
    assert result.seconds < 8
    assert desk.value("1") == "1"


def test_without_a_checkpoint_a_deadly_cell_loses_the_variables_and_says_so(desk: Desk) -> None:
    """With the checkpoint off the session answers, empty, and the next cell runs."""
    desk.run("x = 41")
    result = desk.run("import os; os._exit(1)", checkpoint="off")
    assert (result.state, result.checkpoint) == ("lost", "off")
    assert desk.run("x").error is not None
    assert desk.value("1") == "1"


def test_a_threads_owner_gets_no_checkpoint_by_itself(desk: Desk) -> None:
    """Threads do not survive a copy: `auto` leaves none while one runs, and leaves one again after."""
    desk.run("import threading; stop = threading.Event(); t = threading.Thread(target=stop.wait); t.start()")
    result = desk.run("x = 1")
    assert result.checkpoint.startswith("off: a thread")
    assert desk.run("x = 1", checkpoint="on").checkpoint == "on"
    desk.run("stop.set(); t.join()")
    assert desk.run("x = 1").checkpoint == "on"


@pytest.mark.parametrize(
    "code",
    [
        "import pandas as pd; pd.DataFrame({'a': range(99999)}).to_parquet('a.parquet'); pd.read_parquet('a.parquet')",
        "import numpy as np; a = np.random.random((600, 600)); a = a @ a",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.savefig('a.png')",
    ],
)
def test_the_checkpoint_stays_on_after_native_libraries_were_used(desk: Desk, code: str) -> None:
    """Arrow's pools, BLAS and matplotlib survive a copy: what was restored computes on."""
    assert desk.run(code).ok
    desk.run("x = 41")
    assert desk.run("import os; os._exit(1)").checkpoint == "on"
    assert desk.run(code, timeout_s=30).ok
    assert desk.value("x") == "41"


def test_state_survives_one_crash_after_another(desk: Desk) -> None:
    """What was restored can be restored again."""
    desk.run("x = 0")
    for _ in range(3):
        desk.run("x += 1")
        assert desk.run("import os; x = 99; os._exit(1)").state == "restored"
    assert desk.value("x") == "3"


def test_the_first_cell_of_a_session_may_be_deadly(desk: Desk) -> None:
    """Before the first cell there is nothing to lose, and nothing is."""
    assert desk.run("import os; os._exit(1)").state == "restored"
    assert desk.value("1 + 1") == "2"


def test_a_cell_that_forks_is_one_cell(desk: Desk) -> None:
    """A fork that runs on to the end of the cell does not answer for it."""
    result = desk.run("import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nprint('end')\nos.getpid()")
    assert result.ok
    assert len([output for output in result.outputs if output["output_type"] == "execute_result"]) == 1
    assert desk.value("1") == "1"


def test_a_session_can_be_reset(desk: Desk) -> None:
    """Resetting forgets the variables and keeps the files."""
    desk.run("x = 1; open('kept.txt', 'w').write('x')")
    desk.session.reset()
    assert desk.run("x").cause == "error"
    assert (desk.work / "kept.txt").exists()


def test_a_polars_session_says_what_a_restore_cost_it(place: Place) -> None:
    """polars' threads do not survive a copy: using it after a restore is an error at once, not a hang."""
    frame = (
        "import polars as pl; pl.DataFrame({'a': range(100_000)}).lazy().group_by('a').agg(pl.len()).collect().height"
    )
    with place.session() as desk:
        assert desk.value(frame) == "100000"
        desk.run("x = 41")
        desk.run("import os; os._exit(1)")
        assert desk.value("x") == "41"
        result = desk.run(frame, timeout_s=5)
        assert result.cause == "error"
        assert "reset" in result.detail
        desk.session.reset()
        assert desk.value(frame) == "100000"
