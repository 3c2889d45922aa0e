"""What can go wrong with a step of a recipe, by whose fault it is.

TaskError
├── StepFailed     the step's: the tool did not do what was asked, and the record says why
├── KeptIsDamaged  the disk's, or somebody's hand: what the cache kept is not what it was; the step is run again
└── NotRecorded    ours: a step has ended and has no verdict
"""


class TaskError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class StepFailed(TaskError):
    """The tool did not do what was asked."""

    def __init__(self, problem: str, remedy: str = "", *, is_final: bool = False) -> None:
        self.is_final = is_final
        """Whether asking again would bring the same answer."""
        super().__init__(problem, remedy)


class KeptIsDamaged(TaskError):
    """What the cache kept is not what it was."""


class NotRecorded(TaskError):
    """A step has ended and has no verdict."""
