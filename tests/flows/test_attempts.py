"""No attempt is invisible: tries that failed, were too slow, ran out of memory, or were stopped from outside."""

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.exceptions import CancelledRun
from prefect.runtime import flow_run
from prefect.states import Cancelling

from fakes.kitchen import Kitchen, Observer, Ran
from fakes.prefect_server import wait_until
from run_record import Question, lease
from run_record.verification import verify
from tasks.errors import StepFailed

TWICE = """
import os
tries = len([name for name in os.listdir() if name.startswith("try-")])
open(f"try-{tries}", "w").write("x")
left_by_the_first_try = globals().get("left_by_the_first_try", 0) + 1
assert tries > 0, "not the first time"
assert left_by_the_first_try == 1, "a try begins with the variables from before the one that failed"
"""


def assert_whole(kitchen: Kitchen, ran: Ran) -> None:
    found = verify(ran.folder, kitchen.home.objects, lambda _text: None)
    assert found.damage == []
    assert ran.state.pending == {}
    assert ran.state.begun == {}


def test_a_failed_try_is_recorded_and_tried_again(kitchen: Kitchen) -> None:
    """Each try is a step with a verdict; the next one begins with the variables from before."""
    kitchen.write("again", {"flaky": TWICE}, "[cells.flaky]\nretries = 2\nretry_delay_s = 0\n")
    ran = kitchen.run("again")
    assert ran.error is None
    assert ran.attempts("flaky") == [(False, "error", "FAIL"), (True, "", "PASS")]
    assert "attempt=2" in ran.cel
    assert "not the first time" in ran.cel
    assert_whole(kitchen, ran)


def test_a_cell_that_goes_on_failing_fails_the_run(kitchen: Kitchen) -> None:
    """Every try is recorded; the run is closed as failed with the cell's own words, and later cells do not run."""
    kitchen.write("never", {"bad": "1 / 0", "after": "1"}, "[cells.bad]\nretries = 1\nretry_delay_s = 0\n")
    ran = kitchen.run("never")
    assert isinstance(ran.error, StepFailed)
    assert "ZeroDivisionError" in str(ran.error)
    assert ran.attempts("bad") == [(False, "error", "FAIL")] * 2
    assert ran.attempts("after") == []
    assert ran.state.name == "failed"
    assert "ZeroDivisionError" in ran.cel
    assert_whole(kitchen, ran)


def test_a_cell_that_takes_too_long(kitchen: Kitchen) -> None:
    """It is stopped at the recipe's limit, recorded as such, and the run fails."""
    kitchen.write("slow", {"slow": "import time\ntime.sleep(60)"}, "[cells.slow]\ntimeout_s = 1\n")
    began = time.monotonic()
    ran = kitchen.run("slow")
    assert time.monotonic() - began < 55
    assert ran.attempts("slow") == [(False, "timeout", "FAIL")]
    assert "still running after 1 s" in str(ran.error)
    assert_whole(kitchen, ran)


def test_a_cell_that_runs_out_of_memory(kitchen: Kitchen) -> None:
    """The cells before it are kept; the run says what happened, and goes on from them the next time."""
    eat = "import numpy\nblocks = []\nwhile True:\n    blocks.append(numpy.ones(50_000_000))"
    kitchen.write("eats", {"before": 'open("a.txt", "w").write("a")', "eat": eat})
    ran = kitchen.run("eats")
    assert isinstance(ran.error, StepFailed)
    (attempt,) = ran.attempts("eat")
    assert attempt[0] is False
    assert "emory" in ran.cel
    assert_whole(kitchen, ran)
    kitchen.write("eats", {"before": 'open("a.txt", "w").write("a")', "eat": "1"})
    assert kitchen.run("eats").cached() == {"before": True, "eat": False}


def test_a_session_that_is_lost_between_two_cells(kitchen: Kitchen) -> None:
    """The variables that the next cell needs are made again first; nothing else is noticed."""
    kitchen.write("lost", {"a": "base = 20", "b": 'open("b.txt", "w").write(str(base + 1))'})
    watch = Observer(on_began=lambda name: kitchen.jail.stop() if name == "b" else None)
    ran = kitchen.run("lost", watch)
    assert ran.error is None
    assert ran.file("b.txt") == b"21"
    assert "ran again for their variables: a" in ran.cel


SLEEPS = 'open("begun.txt", "w").write("begun")\nimport time\ntime.sleep(60)'


def start(kitchen: Kitchen, name: str) -> subprocess.Popen[str]:
    """`partner run` in a process of its own."""
    command = [sys.executable, "-m", "partner", "--home", str(kitchen.home.root), "run", name]
    environment = {**os.environ, "PARTNER_RECIPES": str(kitchen.recipes), "PARTNER_HOST_IDLE_S": "5"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_in_the_middle(kitchen: Kitchen, process: subprocess.Popen[str]) -> Path:
    """The folder of a run whose cell is at work."""

    def begun() -> list[Path]:
        assert process.poll() is None, process.stderr and process.stderr.read()
        return list(kitchen.home.runs.glob("*-*/tmp/begun.txt"))

    wait_until(begun, "the cell begins", 60)
    return begun()[0].parents[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_it_from_outside(kitchen: Kitchen, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end the cell, record the attempt, close the run as cancelled, and leave no sandbox: exit 130."""
    kitchen.write("sleeps", {"sleeps": SLEEPS})
    process = start(kitchen, "sleeps")
    folder = run_in_the_middle(kitchen, process)
    process.send_signal(number)
    _, said = process.communicate(timeout=180)
    ran = kitchen.ran(folder.name)
    assert process.returncode == 130, said
    assert ran.state.name == "cancelled"
    assert ran.attempts("sleeps") == [(False, "cancelled", "NOT EVALUATED")]
    assert {"begun.txt", "notebook.ipynb"} <= ran.state.files.keys()
    assert_whole(kitchen, ran)
    assert "Traceback" not in said
    assert "\\x20\n" not in ran.cel, "the reason ends with a word"
    assert ran.run_id not in sandbox_sessions(kitchen)


def test_a_killed_process_leaves_a_lost_attempt_and_no_sandbox(kitchen: Kitchen) -> None:
    """After SIGKILL the next run of anything ends the dead one's session and records its attempt as lost."""
    kitchen.write("sleeps", {"sleeps": SLEEPS})
    kitchen.write("short", {"short": "1"})
    process = start(kitchen, "sleeps")
    folder = run_in_the_middle(kitchen, process)
    process.kill()
    process.communicate()
    before = kitchen.ran(folder.name)
    assert list(before.state.begun) == [("sleeps", 1)]
    assert before.attempts("sleeps") == []
    assert before.run_id in sandbox_sessions(kitchen)
    after = start(kitchen, "short")
    _, said = after.communicate(timeout=180)
    assert after.returncode == 0, said
    ran = kitchen.ran(folder.name)
    assert ran.attempts("sleeps") == [(False, "failed", "FAIL")]
    assert "the process that ran it ended before it did" in ran.cel
    assert ran.state.name == "open", "it can be gone on with"
    assert ran.run_id not in sandbox_sessions(kitchen)
    assert ran.state.begun == {}
    with get_client(sync_client=True) as client:
        named = FlowRunFilter(name=FlowRunFilterName(any_=[f"sleeps {ran.run_id}"]))
        (flow_run,) = client.read_flow_runs(flow_run_filter=named)
    assert flow_run.state_name == "Crashed"


def test_a_lost_attempt_is_recorded_when_its_sandbox_is_gone_as_well(kitchen: Kitchen) -> None:
    """As after a power cut: the next run of anything finds it by the lease that was not given back."""
    kitchen.write("sleeps", {"sleeps": SLEEPS})
    kitchen.write("short", {"short": "1"})
    process = start(kitchen, "sleeps")
    folder = run_in_the_middle(kitchen, process)
    process.kill()
    process.communicate()
    kitchen_command(kitchen, "sandbox", "stop")
    assert kitchen.run("short").error is None
    ran = kitchen.ran(folder.name)
    assert ran.attempts("sleeps") == [(False, "failed", "FAIL")]
    assert ran.state.begun == {}


def sandbox_sessions(kitchen: Kitchen) -> str:
    """The live sessions of the home's own host, as the command shows them."""
    return kitchen_command(kitchen, "sandbox", "status", "--json")


def test_what_a_run_could_not_record_the_next_one_records(kitchen: Kitchen) -> None:
    """As when its disk was full: it ended by itself, without a last word."""
    kitchen.write("short", {"short": "1"})
    record = kitchen.home.create_run(Question(recipe="short", by="anna"))
    record.begin_attempt("tmp.write", "save notebook")
    with pytest.raises(RuntimeError), lease(record.folder, "the recipe short"):
        raise RuntimeError
    assert kitchen.run("short").error is None
    ran = kitchen.ran(record.state.opened.run_id)
    assert ran.attempts("save notebook") == [(False, "failed", "FAIL")]
    assert ran.state.begun == {}


def kitchen_command(kitchen: Kitchen, *arguments: str) -> str:
    command = [sys.executable, "-m", "partner", "--home", str(kitchen.home.root), *arguments]
    environment = {**os.environ, "PARTNER_HOST_IDLE_S": "5"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def test_the_lock_of_a_killed_holder_is_free(kitchen: Kitchen) -> None:
    """A run that was killed while it held a step's lock does not keep others waiting."""
    kitchen.write("sleeps", {"sleeps": SLEEPS})
    process = start(kitchen, "sleeps")
    run_in_the_middle(kitchen, process)
    process.kill()
    process.communicate()
    again = start(kitchen, "sleeps")
    try:
        wait_until(lambda: len(list(kitchen.home.runs.glob("*-*/tmp/begun.txt"))) == 2, "the second begins its cell")
    finally:
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=180)


def test_cancelling_it_in_the_prefect_ui(kitchen: Kitchen) -> None:
    """A flow run that nobody but this process runs is stopped too: its cell ends, the run is closed as cancelled."""
    kitchen.write("sleeps", {"sleeps": SLEEPS, "after": "1"})

    def cancel_soon(name: str) -> None:
        if name == "sleeps":
            threading.Thread(target=contextvars.copy_context().run, args=(cancel,), daemon=True).start()

    def cancel() -> None:
        wait_until(lambda: list(kitchen.home.runs.glob("*-*/tmp/begun.txt")), "the cell begins")
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(flow_run_ids[0], Cancelling(), force=True)

    flow_run_ids: list[Any] = []
    watch = Observer(on_began=cancel_soon)
    watch.on_opened = lambda: flow_run_ids.append(flow_run.id)
    ran = kitchen.run("sleeps", watch)
    assert isinstance(ran.error, CancelledRun)
    assert ran.state.name == "cancelled"
    assert ran.attempts("sleeps")[0] == (False, "interrupted", "FAIL")
    assert ran.attempts("after") == []
    with get_client(sync_client=True) as client:
        assert client.read_flow_run(flow_run_ids[0]).state_name == "Cancelled"
    assert "notebook.ipynb" in ran.state.files
    assert_whole(kitchen, ran)
