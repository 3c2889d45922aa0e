"""What can go wrong with a run's record, by whose fault it is.

RunRecordError
├── CallerError            the caller's: goes back to them as a result
│   ├── UnsafePath         a path that could leave the workspace, or names no plain file
│   ├── NotFound           no such run, file or step
│   ├── AmbiguousRun       a run id prefix that fits several runs
│   ├── RunIsClosed        a closed run takes notes only
│   ├── StepsPending       a run cannot end before its steps are evaluated
│   ├── RunIsBusy          another runner holds the run, or its journal
│   └── NewerFormat        written by a newer version of this program
├── DamagedRecord          the disk's, or somebody's hand: what is stored is not what was acknowledged
└── MachineRefused         the machine's: it would not read or store (disk full, no permission, I/O error)
"""

import errno


class RunRecordError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class CallerError(RunRecordError):
    """The caller asked for something that cannot be."""


class UnsafePath(CallerError):
    """A path that could leave the workspace, or that names no plain file."""


class NotFound(CallerError):
    """No such run, file or step."""


class AmbiguousRun(CallerError):
    """A run id prefix that fits several runs."""


class RunIsClosed(CallerError):
    """A closed run takes notes only."""


class StepsPending(CallerError):
    """A run cannot end before its steps are evaluated."""


class RunIsBusy(CallerError):
    """Another process holds the run or its journal."""


class NewerFormat(CallerError):
    """The record was written by a newer version of this program."""


class DamagedRecord(RunRecordError):
    """What is stored is not what was acknowledged."""


class MachineRefused(RunRecordError):
    """The machine would not read or store it; nothing was acknowledged."""

    @classmethod
    def because(cls, what: str, error: OSError) -> "MachineRefused":
        return cls(f"{what}: {error.strerror or error}", _REMEDIES.get(error.errno or 0, ""))


_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space and try again; what was acknowledged before is safe",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EFBIG: "the file is larger than this process may write: raise `ulimit -f`",
    errno.EIO: "the disk reports an I/O error: look at `dmesg`, then run `partner verify`",
    errno.EROFS: "the file system is read-only: name another home with --home or PARTNER_HOME",
    errno.EACCES: "this user may not write there: change its owner, or name another home with --home or PARTNER_HOME",
    errno.EPERM: "this user may not write there: change its owner, or name another home with --home or PARTNER_HOME",
}
