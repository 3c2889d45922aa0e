"""What can go wrong at the doors.

PartnerError
├── UsageError     the caller's: a setting, an option or an argument that cannot be
├── Refused        the caller's: a tool's refusal, with its fixed code
└── ServerFailed   the machine's: no Prefect server answers, or none could be started
"""

from three_tools.errors import Code


class PartnerError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class UsageError(PartnerError):
    """A setting, an option or an argument that cannot be."""


class Refused(PartnerError):
    """A tool call that was answered with a refusal."""

    def __init__(self, code: Code, problem: str, remedy: str = "") -> None:
        self.code = code
        super().__init__(problem, remedy)


class ServerFailed(PartnerError):
    """No Prefect server answers, or none could be started."""
