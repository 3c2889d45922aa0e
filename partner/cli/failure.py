"""What a failed command says, and the exit code that says whose fault it was."""

from partner.cli.screen import print_json, say
from partner.errors import PartnerError
from run_record.errors import DamagedRecord, NotFound, NotWritten, RunIsBusy, RunRecordError

FAILED = 1
USAGE = 2
NOT_FOUND = 5
DAMAGED = 6


def report(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong and what to do; errors that are nobody's to expect keep their traceback."""
    if isinstance(error, BrokenPipeError):
        return FAILED  # whoever read our output went away
    if isinstance(error, OSError):
        error = NotWritten.because(str(error.filename or "this machine refused"), error)
    if not isinstance(error, (RunRecordError, PartnerError)):
        raise error
    if as_json:
        print_json({"error": {"kind": type(error).__name__, "problem": error.problem, "remedy": error.remedy}})
    say(f"error: {error}")
    return exit_code(error)


def exit_code(error: RunRecordError | PartnerError) -> int:
    match error:
        case NotFound():
            return NOT_FOUND
        case DamagedRecord():
            return DAMAGED
        case NotWritten() | RunIsBusy():
            return FAILED
        case _:
            return USAGE
