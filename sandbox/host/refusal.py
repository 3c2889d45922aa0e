"""What the host cannot or will not do, as it is told to a client."""

from sandbox.frames import Message


class Refusal(Exception):
    """A kind that the client knows as an error class, what happened, and what to do."""

    def __init__(self, kind: str, problem: str, remedy: str) -> None:
        self.kind = kind
        self.problem = problem
        self.remedy = remedy
        super().__init__(problem)

    def as_message(self) -> Message:
        return {"error": {"kind": self.kind, "problem": self.problem, "remedy": self.remedy}}
