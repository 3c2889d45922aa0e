"""What can go wrong with a tool call, by whose fault it is.

ToolError
├── RegistrationError      ours: a tool that cannot be registered, or a name that is taken
├── CallRefused            the caller's: goes back to them as a result, with one of the fixed codes
└── SearchError            the search provider's, or the key's: goes back as a result (`failed`)
    ├── BadKey             the provider does not know the key
    ├── QuotaSpent         the key's searches are used up, or too many came at once
    ├── QueryRefused       the provider will not answer this query: the caller's (`invalid_args`)
    └── ProviderDown       no usable answer: refused connection, server error, too slow, too large, not JSON
"""

from typing import Literal

Code = Literal[
    "unknown_tool",
    "tool_not_allowed",
    "out_of_scope",
    "invalid_args",
    "invalid_sequence",
    "immutable",
    "not_found",
    "conflict",
    "overloaded",
    "timeout",
    "cancelled",
    "failed",
]
"""Why a call did not do what was asked. These words are part of the wire format."""


class ToolError(Exception):
    """What happened, with the value, and what to do next."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)


class RegistrationError(ToolError):
    """A tool that cannot be registered."""


class CallRefused(ToolError):
    """A call that is answered with a refusal instead of a result."""

    def __init__(self, code: Code, problem: str, remedy: str = "") -> None:
        self.code: Code = code
        super().__init__(problem, remedy)


class SearchError(ToolError):
    """A search that brought no answer."""


class BadKey(SearchError):
    """The provider does not know the key."""


class QuotaSpent(SearchError):
    """The key's searches are used up, or too many came at once."""


class QueryRefused(SearchError):
    """The provider will not answer this query."""


class ProviderDown(SearchError):
    """No usable answer came."""
