"""Who may see and run which tool: descriptors, profiles and their allowlists.

registered ⊇ executable(context) ⊇ visible(context). Executable looks at the allowlist alone, never at visibility.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from run_record import Frozen
from three_tools.errors import RegistrationError

THREE_TOOLS = frozenset({"sandbox.exec", "browser.search", "tmp.write", "tmp.read", "tmp.list", "tmp.delete"})
_MEMORY_NODES = frozenset({"memory_node_read", "memory_node_write"})
_CODE_MODE = frozenset({"run_python", "skip"})


class AgentDescriptor(Frozen):
    """Who is calling."""

    kind: Literal["person", "recipe", "agent", "mcp-client", "evaluator"] = Field(
        description="What sort of caller it is."
    )
    name: str = Field(default="", description="What it is called.")
    role: Literal["", "architect", "memory-agent", "memory-search"] = Field(
        default="", description="What an agent is for. A role that is not here is refused: it would be a primary agent."
    )


@dataclass(frozen=True, slots=True)
class Context:
    """A caller and the run it calls for."""

    descriptor: AgentDescriptor
    user_id: str = ""
    agent_id: str = ""
    run_id: str = ""
    is_code_mode: bool = False
    """Whether it orchestrates tools as functions of a small program."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a caller may do."""

    name: str
    allowlist: frozenset[str] | None = None
    """The canonical names it may run; None: everything."""
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By kind of touch, the beginnings of names that are within reach; a kind that is not here is unlimited."""
    replaces_prompt: bool = False
    """Whether its prompt stands instead of the usual sections."""

    def __post_init__(self) -> None:
        for prefix in self.scopes.get("tmp", ()):
            if not prefix.endswith("/"):
                problem = f"the profile {self.name} reaches what begins with '{prefix}', in whatever folder that is"
                raise RegistrationError(problem, f"name the folder: '{prefix}/'")

    def allows(self, tool: str) -> bool:
        return self.allowlist is None or tool in self.allowlist


PRIMARY = Profile("primary")
MCP_CLIENT = Profile("mcp-client", THREE_TOOLS)
MEMORY_AGENT = Profile("memory-agent", _MEMORY_NODES, replaces_prompt=True)
MEMORY_AGENT_IN_CODE = Profile("memory-agent", _MEMORY_NODES | _CODE_MODE, replaces_prompt=True)
MEMORY_SEARCH = Profile("memory-search", frozenset({"memory_node_read"}))
EVALUATOR = Profile("evaluator", frozenset({"tmp.read", "tmp.list"}))

PROFILES = {profile.name: profile for profile in (PRIMARY, MEMORY_AGENT, MEMORY_SEARCH, EVALUATOR, MCP_CLIENT)}
"""By name, for people who ask about one; callers get theirs by `profile_for`."""

PERSON = AgentDescriptor(kind="person")


def profile_for(descriptor: AgentDescriptor, *, is_code_mode: bool = False) -> Profile:
    """The one place where a caller's profile is decided."""
    match descriptor:
        case AgentDescriptor(kind="mcp-client"):
            return MCP_CLIENT
        case AgentDescriptor(kind="evaluator"):
            return EVALUATOR
        case AgentDescriptor(kind="agent", role="memory-agent"):
            return MEMORY_AGENT_IN_CODE if is_code_mode else MEMORY_AGENT
        case AgentDescriptor(kind="agent", role="memory-search"):
            return MEMORY_SEARCH
        case _:
            return PRIMARY
