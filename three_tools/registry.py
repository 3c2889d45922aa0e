"""Every tool there is, and the one way to run one: guarded by the caller's profile, whatever door they came through."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import cast

from pydantic import BaseModel, JsonValue, ValidationError

from run_record.beneath import check_path
from run_record.errors import CallerError, NotFound, RunIsBusy, RunIsClosed, UnsafePath
from run_record.plain_text import printable
from sandbox import SandboxCallerError
from three_tools.errors import CallRefused, Code, QueryRefused, RegistrationError, SearchError
from three_tools.outcome import Outcome, Refusal
from three_tools.policy import Context, Profile, profile_for
from three_tools.time_limit import TookTooLong, within
from three_tools.tool import Bench, Report, Tool, ToolCall, Touch

Refusing = CallRefused | SearchError | CallerError | SandboxCallerError
"""What goes back to the caller as a refusal."""
_REFUSALS = (CallRefused, SearchError, CallerError, SandboxCallerError)
_SHOWN = 80
_MOST_FIELDS = 6
_MOST_NUMBER = 1 << 53


def alias_of(name: str) -> str:
    """The spelling for clients that refuse dots."""
    return name.replace(".", "_")


class Registry:
    """Knows the tools by all their spellings; lists them, and runs them for whoever may.

    What is recorded of a call is not decided here: `after_call` does that.
    """

    def __init__(self, tools: Iterable[Tool] = (), profiles: Callable[[Context], Profile] | None = None) -> None:
        self._tools: dict[str, Tool] = {}
        self._spellings: dict[str, Tool] = {}
        self._profile = profiles or _profile_of
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool; a name that another one answers to, in either spelling, is refused."""
        for spelling in (tool.name, alias_of(tool.name)):
            if taken := self._spellings.get(spelling):
                raise RegistrationError(
                    f"tool {tool.name} would answer to '{spelling}', and so does {taken.name}", "choose another name"
                )
        self._tools[tool.name] = tool
        self._spellings |= {tool.name: tool, alias_of(tool.name): tool}

    def list_tools(self) -> tuple[Tool, ...]:
        """Everything registered."""
        return tuple(self._tools.values())

    def executable_for(self, context: Context) -> tuple[Tool, ...]:
        """What this caller may run, shown to them or not."""
        profile = self._profile(context)
        return tuple(tool for tool in self._tools.values() if profile.allows(tool.name))

    def list_tools_for(self, context: Context) -> tuple[Tool, ...]:
        """What this caller sees: never more than they may run."""
        return tuple(tool for tool in self.executable_for(context) if _is_visible(tool, context))

    def profile_of(self, context: Context) -> Profile:
        """What this caller may do."""
        return self._profile(context)

    def name_of(self, spelling: str) -> str:
        """The canonical name; of an unknown tool, what it was called by, fit to be shown."""
        tool = self._find(spelling)
        return tool.name if tool else printable(str(spelling)[:_SHOWN]) or "(no name)"

    def _find(self, spelling: object) -> Tool | None:
        """Names come from programs that are not type-checked."""
        return self._spellings.get(spelling) if isinstance(spelling, str) else None

    def execute(
        self, context: Context, name: str, arguments: object, bench: Bench | None = None, report: Report | None = None
    ) -> Outcome:
        """Guard a call and run it. What the caller did wrong is in the outcome; our own failures are raised.

        Who gives a report has it filled in, as far as the tool came, even when there is no outcome.
        """
        started = time.perf_counter()
        report = report or Report()
        try:
            tool = self.guard(context, name)
            given = _validated(tool, arguments)
            _require_in_scope(self._profile(context), tool.touches(given))
            report.has_begun = True
            result = self._run(tool, ToolCall(context, bench, report), given)
        except _REFUSALS as error:
            return self.refused(name, arguments, error, report, time.perf_counter() - started)
        seconds = time.perf_counter() - started
        return Outcome(tool=tool.name, ok=tool.is_ok(result), result=result, report=report, seconds=seconds)

    def refused(
        self, name: str, arguments: object, error: Refusing, report: Report | None = None, seconds: float = 0.0
    ) -> Outcome:
        """A call that was not done, with what it asked for."""
        report = report or Report()
        report.inputs = report.inputs or _in_short(arguments)
        refusal = Refusal(_code_of(error), error.problem, error.remedy)
        return Outcome(tool=self.name_of(name), ok=False, refusal=refusal, report=report, seconds=seconds)

    def guard(self, context: Context, name: str) -> Tool:
        """The tool of that name, if there is one and this caller may run it."""
        tool = self._find(name)
        if tool is None:
            known = ", ".join(sorted(tool.name for tool in self.list_tools_for(context)))
            raise CallRefused("unknown_tool", f"there is no tool '{self.name_of(name)}'", f"there is: {known}")
        profile = self._profile(context)
        if not profile.allows(tool.name):
            may = ", ".join(sorted(other.name for other in self.executable_for(context))) or "none"
            raise CallRefused(
                "tool_not_allowed", f"the profile {profile.name} may not run {tool.name}", f"it may run: {may}"
            )
        return tool

    def _run(self, tool: Tool, call: ToolCall, given: BaseModel) -> BaseModel:
        try:
            result = (
                tool.handler(call, given)
                if tool.timeout_s is None
                else within(tool.timeout_s, lambda: tool.handler(call, given))
            )
        except TookTooLong:
            raise CallRefused(
                "timeout", f"{tool.name} was still at work after {tool.timeout_s:g} s", "ask for less"
            ) from None
        # A model of that very class was validated when it was made; another could carry more than the contract has.
        return result if type(result) is tool.result else tool.result.model_validate(_as_plain(result))


@lru_cache(maxsize=1024)
def _profile_of(context: Context) -> Profile:
    return profile_for(context.descriptor, is_code_mode=context.is_code_mode)


def _is_visible(tool: Tool, context: Context) -> bool:
    if tool.visible_by_default is None:
        return True
    try:
        return bool(tool.visible_by_default(context))
    except Exception:  # whoever cannot say that it may be shown hides it
        return False


def _as_plain(result: object) -> object:
    return result.model_dump() if isinstance(result, BaseModel) else result


def _validated(tool: Tool, arguments: object) -> BaseModel:
    if not isinstance(arguments, Mapping | tool.arguments):
        problem = f"the arguments of {tool.name} are a {type(arguments).__name__}, not an object with fields"
        raise CallRefused("invalid_args", problem, f"its fields are {_fields(tool)}")
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        raise CallRefused("invalid_args", _problems(tool, error), f"its fields are {_fields(tool)}") from None
    except RecursionError:
        raise CallRefused("invalid_args", f"the arguments of {tool.name} are nested too deep", "flatten them") from None


def _in_short(arguments: object) -> dict[str, JsonValue]:
    """What a call that was refused had asked for, as far as it can be shown in a line."""
    fields = list(cast("Mapping[object, object]", arguments).items()) if isinstance(arguments, Mapping) else []
    return {printable(str(name)[:_SHOWN]): _in_few_words(value) for name, value in fields[:_MOST_FIELDS]}


def _in_few_words(value: object) -> JsonValue:
    if isinstance(value, str):
        text = printable(value[:_SHOWN])
        return text if len(value) <= _SHOWN else f"{text}… ({len(value):,} characters)"
    if value is None or (isinstance(value, int) and abs(value) <= _MOST_NUMBER):
        return value
    return f"({type(value).__name__})"


def _fields(tool: Tool) -> str:
    fields = tool.arguments.model_fields
    return ", ".join(name if field.is_required() else f"{name} (optional)" for name, field in fields.items()) or "none"


def _problems(tool: Tool, error: ValidationError) -> str:
    """What is wrong, field by field; the value itself only when it is short."""
    shown: list[str] = []
    for one in error.errors(include_url=False, include_context=False)[:3]:
        where = printable(".".join(map(str, one["loc"]))[:_SHOWN])
        got = "" if one["type"] == "missing" else _got(one["input"])
        shown.append(f"{where}: {one['msg']}{got}" if where else f"{one['msg']}")
    more = f" and {error.error_count() - 3} more" if error.error_count() > 3 else ""
    return f"{tool.name} does not take these arguments: {'; '.join(shown)}{more}"


def _got(value: object) -> str:
    """The value itself, when it is short."""
    if isinstance(value, str):
        return f" (got {printable(repr(value))})" if len(value) < _SHOWN else ""
    is_short = value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) <= _MOST_NUMBER)
    return f" (got {value!r})" if is_short else ""


def _require_in_scope(profile: Profile, touches: Iterable[Touch]) -> None:
    for touch in touches:
        if touch.kind == "tmp" and not touch.is_prefix:
            check_path(touch.name)
        allowed = profile.scopes.get(touch.kind)
        if allowed is not None and not touch.name.startswith(allowed):
            reach = ", ".join(f"'{prefix}'" for prefix in allowed) or "nothing"
            problem = f"'{printable(touch.name[:_SHOWN])}' is out of reach for the profile {profile.name}"
            raise CallRefused("out_of_scope", problem, f"within its reach is what begins with {reach}")


def _code_of(error: Refusing) -> Code:
    if isinstance(error, CallRefused):
        return error.code
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return "invalid_args"


_CODES: tuple[tuple[type[Exception], Code], ...] = (
    (QueryRefused, "invalid_args"),
    (SearchError, "failed"),
    (UnsafePath, "out_of_scope"),
    (NotFound, "not_found"),
    (RunIsClosed, "immutable"),
    (RunIsBusy, "conflict"),
    (SandboxCallerError, "conflict"),
)
