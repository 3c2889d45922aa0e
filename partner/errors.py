"""What can go wrong at the doors, before anything below is asked.

PartnerError
└── UsageError     the caller's: a setting, an option or an argument that cannot be
"""


class PartnerError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class UsageError(PartnerError):
    """A setting, an option or an argument that cannot be."""
