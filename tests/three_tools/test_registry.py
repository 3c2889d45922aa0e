"""The registry: three sets, one order of checks, fixed codes."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from run_record.errors import MachineRefused
from three_tools.errors import CallRefused, Code, RegistrationError
from three_tools.policy import PERSON, PROFILES, AgentDescriptor, Context, Profile, profile_for
from three_tools.registry import Registry, alias_of
from three_tools.run import THE_TOOLS, standard_registry
from three_tools.tool import Tool, Touch

ME = Context(PERSON, user_id="anna")
CALLERS = {
    "primary": AgentDescriptor(kind="person"),
    "memory-agent": AgentDescriptor(kind="agent", role="memory-agent"),
    "memory-search": AgentDescriptor(kind="agent", role="memory-search"),
    "evaluator": AgentDescriptor(kind="evaluator"),
    "mcp-client": AgentDescriptor(kind="mcp-client"),
}
ALL_NAMES = [
    *(tool.name for tool in THE_TOOLS),
    "memory_node_read",
    "memory_node_write",
    "run_python",
    "skip",
    "talk.user",
]


class Word(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    word: str = ""
    number: int = 0


class Said(BaseModel):
    said: str


def tool(name: str = "echo.word", **changes: Any) -> Tool:
    given: dict[str, Any] = {
        "name": name,
        "description": "Says a word again.",
        "arguments": Word,
        "result": Said,
        "handler": lambda call, args: Said(said=args.word),
        **changes,
    }
    return Tool(**given)


def raising(error: Exception) -> Callable[..., Any]:
    def handler(*_: object) -> Any:
        raise error

    return handler


def test_a_call_gives_its_result_as_object_and_as_text() -> None:
    """A call that does what was asked has a validated result, its JSON and its text."""
    outcome = Registry([tool()]).execute(ME, "echo.word", {"word": "hi"})
    assert (outcome.ok, outcome.code, outcome.as_json(), outcome.text()) == (
        True,
        None,
        {"said": "hi"},
        '{"said": "hi"}',
    )


def test_both_spellings_are_one_tool() -> None:
    """`sandbox_exec` is `sandbox.exec`; no other spelling is anything."""
    registry = Registry([tool()])
    assert registry.execute(ME, "echo_word", {}).tool == "echo.word"
    for name in ("Echo.word", " echo.word", "echo-word", "echo/word", "echo.word\0", "", "x" * 10_000):
        outcome = registry.execute(ME, name, {})
        assert (outcome.code, len(outcome.tool) <= 100) == ("unknown_tool", True)


@pytest.mark.parametrize("name", ["echo.word", "echo_word"])
def test_a_name_that_is_taken_in_either_spelling_is_a_registration_error(name: str) -> None:
    """A clash of names or aliases is found when the second tool is registered."""
    with pytest.raises(RegistrationError, match="and so does echo"):
        Registry([tool(), tool(name)])


@pytest.mark.parametrize(
    "changes", [{"result": None}, {"result": dict}, {"arguments": None}, {"description": ""}, {"name": "A b"}]
)
def test_a_tool_without_a_result_model_is_none(changes: dict[str, Any]) -> None:
    """A tool needs argument and result models, a one-line description and a plain name."""
    with pytest.raises(RegistrationError):
        tool(**changes)


def test_a_hidden_tool_runs_when_it_is_called() -> None:
    """Visibility decides what is listed, never what runs; a callback that raises hides."""
    hidden = tool("echo.hidden", visible_by_default=lambda context: False)
    broken = tool("echo.broken", visible_by_default=raising(RuntimeError("no")))
    for_agents = tool("echo.agents", visible_by_default=lambda context: context.descriptor.kind == "agent")
    registry = Registry([tool(), hidden, broken, for_agents])
    assert [each.name for each in registry.list_tools_for(ME)] == ["echo.word"]
    assert len(registry.list_tools()) == len(registry.executable_for(ME)) == 4
    for name in ("echo.hidden", "echo_broken", "echo.agents"):
        assert registry.execute(ME, name, {}).ok
    agent = Context(AgentDescriptor(kind="agent", name="primary"))
    assert "echo.agents" in [each.name for each in registry.list_tools_for(agent)]


@pytest.mark.parametrize("profile", CALLERS)
@pytest.mark.parametrize("name", ALL_NAMES)
def test_every_profile_and_tool(profile: str, name: str) -> None:
    """A tool outside a profile's allowlist is neither shown nor run, by either spelling; one inside is both."""
    context = Context(CALLERS[profile])
    assert profile_for(context.descriptor) == PROFILES[profile]
    registry = Registry([tool(each) for each in ALL_NAMES])
    allowlist = PROFILES[profile].allowlist
    is_allowed = allowlist is None or name in allowlist
    assert (name in {each.name for each in registry.list_tools_for(context)}) is is_allowed
    for spelling in (name, alias_of(name)):
        outcome = registry.execute(context, spelling, {})
        assert outcome.code == (None if is_allowed else "tool_not_allowed")


def test_what_each_profile_may_run() -> None:
    """Written out here: a longer allowlist is made on purpose, or not at all."""
    assert {name: profile.allowlist for name, profile in PROFILES.items()} == {
        "primary": None,
        "mcp-client": {"sandbox.exec", "browser.search", "tmp.write", "tmp.read", "tmp.list", "tmp.delete"},
        "memory-agent": {"memory_node_read", "memory_node_write"},
        "memory-search": {"memory_node_read"},
        "evaluator": {"tmp.read", "tmp.list"},
    }
    assert [name for name, profile in PROFILES.items() if profile.replaces_prompt] == ["memory-agent"]


@pytest.mark.parametrize("role", ["Memory-Agent", "memory-agent ", "nobody"])
def test_a_misspelt_role_is_no_primary_agent(role: Any) -> None:
    """Who is not known is refused, instead of being let do everything."""
    with pytest.raises(ValidationError):
        AgentDescriptor(kind="agent", role=role)


def test_names_that_meet_only_by_their_aliases_clash() -> None:
    """`a.b_c` and `a_b.c` would both answer to `a_b_c`."""
    with pytest.raises(RegistrationError, match="a_b_c"):
        Registry([tool("a.b_c"), tool("a_b.c")])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tmp.list", {}),
        ("tmp.list", {"prefix": "artifacts"}),
        ("tmp.read", {"path": "facts.json"}),
        ("tmp.write", {"path": "artifacts-secret/x", "text": ""}),
        ("tmp.delete", {"path": "./artifacts/x"}),
        ("sandbox.exec", {"code": "1", "files_in": [{"name": "artifacts/x", "path": "facts.json"}]}),
        ("sandbox.exec", {"code": "1", "files_in": [{"name": "x", "path": "artifacts/x"}]}),
    ],
)
def test_every_tool_keeps_to_the_callers_scope(name: str, arguments: dict[str, object]) -> None:
    """Whatever argument names it: a path, a prefix, a file to copy and where to."""
    narrow = Profile("narrow", None, {"tmp": ("artifacts/",)})
    registry = Registry(THE_TOOLS, lambda context: narrow)
    assert registry.execute(ME, name, arguments).code == "out_of_scope"
    assert registry.execute(ME, "tmp.list", {"prefix": "artifacts/"}).code == "not_found"  # in scope; there is no run


def test_a_scope_of_files_is_a_folder() -> None:
    """Without its closing slash it would reach into folders that begin alike."""
    with pytest.raises(RegistrationError, match="artifacts/"):
        Profile("narrow", None, {"tmp": ("artifacts",)})


def test_a_result_is_the_contracts_own() -> None:
    """A model of another class is checked, and brings no field that the contract does not have."""

    class Leak(Said):
        more: str

    class Strict(Said):
        model_config = ConfigDict(extra="forbid")

    leaking = tool(handler=lambda call, args: Leak(said="hi", more="x"))
    assert Registry([leaking]).execute(ME, "echo.word", {}).as_json() == {"said": "hi"}
    with pytest.raises(ValidationError):
        Registry([tool(result=Strict, handler=leaking.handler)]).execute(ME, "echo.word", {})


def test_a_long_answer_is_cut_and_says_so() -> None:
    """The text for a model is bounded; how much is missing stands at its end."""
    text = Registry([tool()]).execute(ME, "echo.word", {"word": "x" * 60_000}).text()
    assert len(text) < 50_100
    assert text.endswith("characters left out)")


def test_the_memory_agent_in_code_mode_may_run_python_and_skip() -> None:
    """Code mode adds exactly two tools to the memory-agent's allowlist."""
    registry = Registry([tool(each) for each in ALL_NAMES])
    context = Context(CALLERS["memory-agent"], is_code_mode=True)
    names = {each.name for each in registry.executable_for(context)}
    assert names == {"memory_node_read", "memory_node_write", "run_python", "skip"}


def test_checks_come_in_order() -> None:
    """Unknown comes before not allowed, that before arguments, those before scope, and that before running."""
    narrow = Profile("narrow", frozenset({"echo.word"}), {"tmp": ("artifacts/",)})
    touching = tool(touches=lambda args: [Touch("tmp", args.word)], handler=raising(CallRefused("conflict", "ran")))
    registry = Registry([touching, tool("echo.other")], lambda context: narrow)
    bad: dict[str, Any] = {"word": 3}
    assert registry.execute(ME, "nope", bad).code == "unknown_tool"
    assert registry.execute(ME, "echo.other", bad).code == "tool_not_allowed"
    assert registry.execute(ME, "echo.word", bad).code == "invalid_args"
    for out in ("../x", "/etc/passwd", "facts.json", "artifacts/../x", "artifacts//x", "artifacts/\0"):
        assert registry.execute(ME, "echo.word", {"word": out}).code == "out_of_scope", out
    assert registry.execute(ME, "echo.word", {"word": "artifacts/x"}).code == "conflict"


@pytest.mark.parametrize(
    "arguments",
    [{"word": 3}, {"number": "3"}, {"number": True}, {"other": 1}, [], "x", None, 3, {3: 4}],
)
def test_wrong_types_are_refused_with_the_value(arguments: Any) -> None:
    """Arguments are never bent into shape; the answer names the field and the fields there are."""
    outcome = Registry([tool()]).execute(ME, "echo.word", arguments)
    assert outcome.code == "invalid_args"
    assert outcome.refusal
    assert "word (optional), number (optional)" in outcome.refusal.remedy


def test_huge_arguments_are_refused_without_being_repeated() -> None:
    """What is too long is refused in a few words."""
    registry = standard_registry()
    for name, arguments in (
        ("sandbox.exec", {"code": "x" * (5 << 20)}),
        ("browser.search", {"query": "x" * 100_000}),
        ("browser.search", {"query": "x", "top_k": 10**9}),
        ("tmp.write", {"path": "a", "text": "x" * (65 << 20)}),
        ("tmp.read", {"path": {"a": ["x"] * 100_000}}),
        ("sandbox.exec", {"code": "\ud800" * 1000}),
    ):
        outcome = registry.execute(ME, name, arguments)
        assert outcome.code == "invalid_args"
        assert outcome.refusal
        assert len(outcome.refusal.problem) < 500


def test_a_handler_has_only_so_long() -> None:
    """A tool with a time limit answers `timeout` when it is over."""
    forever = threading.Event()
    slow = tool(timeout_s=0.01, handler=lambda call, args: forever.wait(60) and None)
    assert Registry([slow]).execute(ME, "echo.word", {}).code == "timeout"
    forever.set()
    assert Registry([tool(timeout_s=60)]).execute(ME, "echo.word", {"word": "a"}).as_json() == {"said": "a"}


@pytest.mark.parametrize("code", ["conflict", "not_found", "immutable", "overloaded", "cancelled"])
def test_a_handlers_refusal_is_a_result(code: Code) -> None:
    """What a handler refuses comes back with its code, never as an exception."""
    outcome = Registry([tool(handler=raising(CallRefused(code, "so it is", "do this")))]).execute(ME, "echo.word", {})
    assert outcome.as_json() == {"error": {"code": code, "problem": "so it is", "remedy": "do this"}}


def test_our_own_failure_is_raised() -> None:
    """A full disk, or a result that does not fit its model, is nobody's arguments' fault."""
    with pytest.raises(MachineRefused):
        Registry([tool(handler=raising(MachineRefused("disk full")))]).execute(ME, "echo.word", {})
    with pytest.raises(ValueError, match="validation error"):
        Registry([tool(handler=lambda call, args: {"said": 3})]).execute(ME, "echo.word", {})


def test_a_tool_of_a_run_needs_one() -> None:
    """Without a run there is nothing to work in, and the answer says how to open one."""
    outcome = standard_registry().execute(ME, "tmp.list", {})
    assert outcome.code == "not_found"
