"""Whose fault it was that a cell did not end well. Pure: evidence in, verdict out.

The cell's own error, a limit it ran into, or our machinery: the first two are results, the third is raised.
"""

import errno
import os
import signal
from dataclasses import dataclass
from typing import Final, Literal

Cause = Literal["error", "timeout", "interrupted", "oom", "signal", "limit"]
Fault = Literal["cell", "limit", "ours"]
Stop = Literal["timeout", "interrupted", "memory", "disk", "cpu", "processes", "forgery"]
"""Why the host stopped a cell."""

_LIMIT_NUMBERS: Final = {
    errno.EFBIG: "a file grew beyond the largest size allowed",
    errno.EMFILE: "more files were open than allowed",
    errno.EDQUOT: "the disk quota is used up",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known when a cell has ended."""

    error_name: str | None = None
    """The class of the exception it ended with."""
    error_number: int | None = None
    error_text: str = ""
    was_dead: bool = False
    """Whether the kernel had ended before this cell, so that it never ran."""
    has_answered: bool = False
    """Whether the kernel said itself that the cell is done."""
    stopped_for: Stop | None = None
    stop_text: str = ""
    """The figures: what was allowed, what was seen."""
    wait_status: int | None = None
    """How the kernel process ended, as wait(2) gives it; None while it lives or when nobody saw."""
    was_oom_killed: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The cause, whose fault it was, and a sentence for people. A cause of None means that all went well."""

    cause: Cause | None
    fault: Fault | None
    detail: str


def judge(evidence: Evidence) -> Verdict:
    if evidence.was_dead:
        how = _died(evidence.wait_status)
        return Verdict(how.cause, how.fault, f"not run: between cells, {how.detail.replace('the cell', 'the session')}")
    if evidence.stopped_for is not None:
        return _stopped(evidence.stopped_for, evidence)
    if evidence.has_answered and not (evidence.was_oom_killed and evidence.error_name):
        return _answered(evidence)
    if evidence.was_oom_killed:
        return Verdict("oom", "limit", f"out of memory: {evidence.stop_text or 'the kernel killed it'}")
    return _died(evidence.wait_status)


def _stopped(reason: Stop, evidence: Evidence) -> Verdict:
    text = evidence.stop_text
    match reason:
        case "timeout":
            return Verdict("timeout", "limit", text)
        case "interrupted":
            return Verdict("interrupted", "cell", text)
        case "memory":
            return Verdict("oom", "limit", f"out of memory: {text}")
        case "forgery":
            return Verdict("error", "cell", text)
        case _:
            return Verdict("limit", "limit", f"{reason}: {text}")


def _answered(evidence: Evidence) -> Verdict:
    if evidence.error_name is None:
        return Verdict(None, None, "")
    text = f"{evidence.error_name}: {evidence.error_text}" if evidence.error_text else evidence.error_name
    if evidence.error_name in ("MemoryError", "_ArrayMemoryError", "ArrowMemoryError"):
        return Verdict("oom", "limit", f"out of memory: {text}")
    if evidence.error_number in _LIMIT_NUMBERS:
        return Verdict("limit", "limit", f"{_LIMIT_NUMBERS[evidence.error_number]}: {text}")
    if evidence.error_name == "BlockingIOError" and evidence.error_number == errno.EAGAIN:
        return Verdict("limit", "limit", f"no more processes or threads are allowed: {text}")
    if evidence.error_name == "RuntimeError" and "can't start new thread" in evidence.error_text:
        return Verdict("limit", "limit", f"no more processes or threads are allowed: {text}")
    return Verdict("error", "cell", text)


def _died(status: int | None) -> Verdict:
    if status is None:
        return Verdict("error", "ours", "the kernel is gone and nobody saw how it ended")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        hint = " (killed from outside: by the cell itself, an operator, or the machine running out of memory)"
        return Verdict("signal", "cell", f"the cell died by {name}{hint if name == 'SIGKILL' else ''}")
    return Verdict("error", "cell", f"the cell ended its process (exit code {os.waitstatus_to_exitcode(status)})")
