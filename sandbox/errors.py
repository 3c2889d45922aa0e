"""What can go wrong with a sandbox, by whose fault it is. A cell that fails is none of these: that is a result.

SandboxError
├── SandboxCallerError     the caller's: goes back to them as a result
│   ├── SessionIsBusy      a session runs one cell at a time, and a work directory has one session
│   ├── SessionIsGone      no such session: closed, idle too long, or the host was restarted; its variables are lost
│   └── UnfitWorkDirectory a work directory that cells cannot be given
├── NoSafeSandbox          this machine's: a needed wall is missing, so nothing was run
└── SandboxFailed          ours: the host, the zygote or the environment broke
    └── HostIsGone         the host ended while it was asked something
"""


class SandboxError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class SandboxCallerError(SandboxError):
    """The caller asked for something that cannot be."""


class SessionIsBusy(SandboxCallerError):
    """The session runs another cell, or the work directory has another session."""


class SessionIsGone(SandboxCallerError):
    """The session is no more, and its variables with it."""


class UnfitWorkDirectory(SandboxCallerError):
    """A work directory that cells cannot be given."""


class NoSafeSandbox(SandboxError):
    """A needed wall is missing here; nothing was run."""


class SandboxFailed(SandboxError):
    """The sandbox itself broke: not the cell's fault, and not the caller's."""


class HostIsGone(SandboxFailed):
    """The host ended while it was asked something; its sessions and their variables are lost."""


KINDS: dict[str, type[SandboxError]] = {
    kind.__name__: kind for kind in (SessionIsBusy, SessionIsGone, UnfitWorkDirectory, NoSafeSandbox, SandboxFailed)
}
"""By the names that the host uses."""
