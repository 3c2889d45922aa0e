"""What a failed command says, and the exit code that says whose fault it was."""

import signal
import sys
from contextlib import suppress

import typer
from typer._click.exceptions import ClickException  # typer carries its own click and offers this nowhere else

from flows.errors import BelowThreshold, FlowError
from partner.cli.screen import print_json, say
from partner.errors import PartnerError, Refused, ServerFailed
from recipes.errors import RecipeError, RecipeNotFound
from run_record.errors import DamagedRecord, MachineRefused, NotFound, RunIsBusy, RunRecordError
from sandbox.errors import NoSafeSandbox, SandboxError, SandboxFailed
from tasks.errors import TaskError

FAILED = 1
USAGE = 2
BELOW_THRESHOLD = 3
NO_SANDBOX = 4
NOT_FOUND = 5
DAMAGED = 6
INTERRUPTED = 130
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, an end by the system, a terminal that was closed: each stops what runs, and what it did is recorded."""


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong and what to do; errors that are nobody's to expect keep their traceback."""
    match error:
        case KeyboardInterrupt():
            say("interrupted")
            problem, remedy, code = "interrupted", "what had begun is in the run's record: partner show", INTERRUPTED
        case BrokenPipeError():
            return FAILED  # whoever read our output went away
        case typer.Abort():
            say("nothing was done")
            return FAILED
        case ClickException():
            error.show()
            problem, remedy, code = error.format_message(), "see --help", error.exit_code
        case RunRecordError() | SandboxError() | PartnerError() | RecipeError() | TaskError() | FlowError():
            say("\n".join([f"error: {error}", *getattr(error, "__notes__", ())]))
            problem, remedy, code = error.problem, error.remedy, exit_code(error)
        case OSError():
            return report(MachineRefused.because(str(error.filename or "this machine"), error), as_json=as_json)
        case _:
            if as_json:
                _print_object(type(error).__name__, str(error), "this is our own fault: stderr has where it happened")
            raise error
    if as_json:
        _print_object(error.code if isinstance(error, Refused) else type(error).__name__, problem, remedy)
    return code


def _print_object(kind: str, problem: str, remedy: str) -> None:
    with suppress(OSError):  # it may have been stdout itself that failed
        print_json({"error": {"kind": kind, "problem": problem, "remedy": remedy}})
        sys.stdout.flush()


_EXIT_CODES = {
    "not_found": NOT_FOUND,
    "conflict": FAILED,
    "overloaded": FAILED,
    "timeout": FAILED,
    "failed": FAILED,
    "cancelled": INTERRUPTED,
}


def exit_code(error: BaseException) -> int:
    match error:
        case BelowThreshold():
            return BELOW_THRESHOLD
        case Refused():
            return _EXIT_CODES.get(error.code, USAGE)
        case NoSafeSandbox():
            return NO_SANDBOX
        case NotFound() | RecipeNotFound():
            return NOT_FOUND
        case DamagedRecord():
            return DAMAGED
        case MachineRefused() | RunIsBusy() | SandboxFailed() | ServerFailed() | TaskError() | FlowError():
            return FAILED
        case _:
            return USAGE
