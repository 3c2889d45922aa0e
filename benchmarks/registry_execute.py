"""What the guard around a tool costs: a no-op tool through the registry, beside validating and calling it directly."""

from pydantic import BaseModel

from benchmarks.figure import Figure, in_turns, report
from three_tools.policy import PERSON, Context
from three_tools.registry import Registry
from three_tools.tool import Tool, ToolCall

_CALLS = 2000


class Given(BaseModel):
    """What goes in."""

    number: int


class Answer(BaseModel):
    """What comes out."""

    number: int


def _no_op(_call: ToolCall | None, given: Given) -> Answer:
    return Answer(number=given.number)


def main() -> None:
    registry = Registry(
        [Tool(name="no.op", description="Does nothing.", arguments=Given, result=Answer, handler=_no_op)]
    )
    context = Context(PERSON)

    def ours() -> None:
        for _ in range(_CALLS):
            registry.execute(context, "no.op", {"number": 1})

    def floor() -> None:
        for _ in range(_CALLS):
            _no_op(None, Given.model_validate({"number": 1}))

    measured = [seconds / _CALLS for seconds in in_turns([ours, floor], 15)]
    what = "registry.execute on a no-op tool, recording left out"
    report("registry_execute", "The guard", [Figure(what, measured[0], "pydantic validate and call", measured[1], 20)])
