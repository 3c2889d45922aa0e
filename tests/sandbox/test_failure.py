"""Whose fault it was."""

import errno
import signal

import pytest

from sandbox.failure import Evidence, Verdict, judge

CASES = {
    "all well": (Evidence(has_answered=True), (None, None)),
    "an exception": (Evidence(has_answered=True, error_name="ValueError"), ("error", "cell")),
    "MemoryError": (Evidence(has_answered=True, error_name="MemoryError"), ("oom", "limit")),
    "numpy's": (Evidence(has_answered=True, error_name="_ArrayMemoryError"), ("oom", "limit")),
    "file too large": (Evidence(has_answered=True, error_name="OSError", error_number=errno.EFBIG), ("limit", "limit")),
    "too many files": (
        Evidence(has_answered=True, error_name="OSError", error_number=errno.EMFILE),
        ("limit", "limit"),
    ),
    "no more forks": (
        Evidence(has_answered=True, error_name="BlockingIOError", error_number=errno.EAGAIN),
        ("limit", "limit"),
    ),
    "no more threads": (
        Evidence(has_answered=True, error_name="RuntimeError", error_text="can't start new thread"),
        ("limit", "limit"),
    ),
    "timeout": (
        Evidence(has_answered=True, error_name="KeyboardInterrupt", stopped_for="timeout"),
        ("timeout", "limit"),
    ),
    "killed for its timeout": (Evidence(stopped_for="timeout", wait_status=signal.SIGKILL), ("timeout", "limit")),
    "interrupted": (Evidence(has_answered=True, stopped_for="interrupted"), ("interrupted", "cell")),
    "above its memory": (Evidence(stopped_for="memory", wait_status=signal.SIGKILL), ("oom", "limit")),
    "above its disk": (Evidence(stopped_for="disk"), ("limit", "limit")),
    "above its cpu": (Evidence(stopped_for="cpu"), ("limit", "limit")),
    "forged frames": (Evidence(stopped_for="forgery"), ("error", "cell")),
    "oom killer": (Evidence(wait_status=signal.SIGKILL, was_oom_killed=True), ("oom", "limit")),
    "a program of its own was oom killed": (
        Evidence(has_answered=True, error_name="CalledProcessError", was_oom_killed=True),
        ("oom", "limit"),
    ),
    "a program was oom killed and the cell coped": (Evidence(has_answered=True, was_oom_killed=True), (None, None)),
    "segfault": (Evidence(wait_status=signal.SIGSEGV), ("signal", "cell")),
    "killed": (Evidence(wait_status=signal.SIGKILL), ("signal", "cell")),
    "left": (Evidence(wait_status=3 << 8), ("error", "cell")),
    "nobody knows": (Evidence(), ("error", "ours")),
}


@pytest.mark.parametrize(("evidence", "expected"), CASES.values(), ids=CASES.keys())
def test_cause_and_fault(evidence: Evidence, expected: tuple[str | None, str | None]) -> None:
    """Each ending has one cause, and is the cell's, a limit's or ours."""
    verdict = judge(evidence)
    assert (verdict.cause, verdict.fault) == expected


def test_the_detail_names_what_happened() -> None:
    """A person reads the signal, the exit code or the exception's own words."""
    assert "SIGSEGV" in judge(Evidence(wait_status=signal.SIGSEGV)).detail
    assert "exit code 3" in judge(Evidence(wait_status=3 << 8)).detail
    assert judge(Evidence(has_answered=True, error_name="KeyError", error_text="'x'")).detail == "KeyError: 'x'"
    assert judge(Evidence(has_answered=True)) == Verdict(None, None, "")
