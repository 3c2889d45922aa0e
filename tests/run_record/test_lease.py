"""One runner per run."""

import os
import signal
import subprocess
import sys

import pytest

from run_record import Home, RunRecord, is_held, is_taken, lease, read_journal
from run_record.errors import RunIsBusy

RUNNER = """
import sys
from pathlib import Path
from run_record import lease
with lease(Path(sys.argv[1]), "the night flow"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_runner(record: RunRecord) -> subprocess.Popen[str]:
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, record.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert runner.stdout
    assert runner.stdout.readline() == "held\n"
    return runner


def test_a_second_runner_is_refused_while_a_note_gets_in(home: Home, record: RunRecord) -> None:
    """While one process runs a run, another is refused at once by name, and its note is recorded all the same."""
    with start_runner(record) as runner:
        with pytest.raises(RunIsBusy, match=f"the night flow \\(process {runner.pid}\\)"), lease(record.folder, "me"):
            pass
        assert is_held(record.folder)
        home.open_run(record.state.opened.run_id).note("anna", "got in")
        assert len(read_journal(record.folder).entries) == 2
        runner.communicate()


def test_the_lease_dies_with_its_holder(record: RunRecord) -> None:
    """A runner killed outright leaves the run free for the next."""
    with start_runner(record) as runner:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    assert is_taken(record.folder), "that it was not given back can be seen"
    assert not is_held(record.folder)
    with lease(record.folder, "the next"):
        pass


def test_the_lease_is_given_back(record: RunRecord) -> None:
    """After a runner ended, or failed, the next one gets the lease."""
    with pytest.raises(RuntimeError), lease(record.folder, "one"):
        raise RuntimeError
    assert is_taken(record.folder), "that it failed can be seen"
    with lease(record.folder, "two"):
        assert is_taken(record.folder)
    assert not is_taken(record.folder)


def test_one_process_cannot_hold_it_twice(record: RunRecord) -> None:
    """The lease is exclusive within a process too."""
    with lease(record.folder, "one"), pytest.raises(RunIsBusy), lease(record.folder, "two"):
        pass
