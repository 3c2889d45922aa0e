"""A tool: what it is called, what goes in, what comes out, and what it needs to know of the caller."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, JsonValue

from run_record import Artifact, Home, RunRecord
from run_record.changes import Sighting
from sandbox import Cell, CellResult, Output, Touched
from three_tools.errors import CallRefused, RegistrationError
from three_tools.policy import Context
from three_tools.search.provider import SearchProvider

Effect = Literal["read", "write", "world"]
"""What a tool does beyond answering: reads the run, changes it, or reaches outside it."""

_NAME = re.compile(r"[a-z][a-z0-9]*([._][a-z0-9]+)*")


class Bench(Protocol):
    """What a run lends to the tools that work in it."""

    @property
    def record(self) -> RunRecord: ...

    @property
    def home(self) -> Home: ...

    @property
    def search(self) -> SearchProvider: ...

    def run_cell(self, cell: Cell, report: "Report") -> CellResult:
        """Run a cell in the run's sandbox session, which is started when it is first needed."""
        ...


@dataclass(slots=True)
class Report:
    """What a tool says of its call besides the result: the record shows it and the Evaluator judges by it."""

    did: list[str] = field(default_factory=list[str])
    inputs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The salient arguments only."""
    has_begun: bool = False
    """Whether the tool was let at the run at all: a call that was refused at the door touched nothing."""
    source: str = ""
    """The code that was run, whole."""
    cause: str = ""
    """Why a cell did not end well."""
    detail: str = ""
    """That cause as a sentence."""
    stderr: str = ""
    """What a cell printed on stderr, as far as it was captured."""
    killed_processes: int = 0
    results: int | None = None
    """How many results a search brought."""
    citations: Artifact | None = None
    """The file that these results can be cited from, as it was written."""
    paths: frozenset[str] | None = None
    """The only files that the call can have touched; None: it may have touched any."""
    seen: Sighting | None = None
    """The files as the tool saw them at its end, when it had to look."""
    touched: Touched | None = None
    """What a cell did with which files."""
    outputs: tuple[Output, ...] = ()
    """What a cell showed, as a notebook keeps it."""
    notices: list[str] = field(default_factory=list[str])
    """What the caller should know, though it is no part of the result."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call on its way through a tool."""

    context: Context
    bench: Bench | None
    report: Report


def bench_of(call: ToolCall) -> Bench:
    """What the call works on; a tool of a run cannot be called without one."""
    if call.bench is None:
        raise CallRefused("not_found", "there is no run to work in", "open one first: `partner open`, or name one")
    return call.bench


@dataclass(frozen=True, slots=True)
class Touch:
    """Something that an argument names and that a profile may put out of reach."""

    kind: Literal["tmp", "memory"]
    name: str
    is_prefix: bool = False
    """Whether the name stands for everything that begins so."""


def touches_nothing(_arguments: Any) -> Iterable[Touch]:  # Any: a tool's own argument model
    return ()


def is_always_ok(_result: Any) -> bool:  # Any: a tool's own result model
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it is registered. Without a result model there is none."""

    name: str
    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    handler: Callable[[ToolCall, Any], BaseModel]  # Any: the tool's own argument model
    effects: frozenset[Effect] = frozenset({"read"})
    is_idempotent: bool = False
    visible_by_default: Callable[[Context], bool] | None = None
    """Whether a caller is shown it; no callback: everybody is."""
    touches: Callable[[Any], Iterable[Touch]] = touches_nothing  # Any: likewise
    is_ok: Callable[[Any], bool] = is_always_ok  # Any: the tool's own result model
    """Whether a result says that the call did what was asked."""
    timeout_s: float | None = None
    """How long the handler may take; None: it bounds itself."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise RegistrationError(
                f"'{self.name}' cannot be a tool's name", "use lower-case words joined by dots or underscores"
            )
        # People and programs that are not type-checked register tools too.
        for what, model in (("argument", self.arguments), ("result", self.result)):
            if not (isinstance(model, type) and issubclass(model, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise RegistrationError(f"tool {self.name} has no {what} model", "give it a pydantic model")
        if not self.description or "\n" in self.description:
            raise RegistrationError(f"tool {self.name} needs a description of one line", "say what it does")
