"""What every search provider does, and the values that go in and out."""

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is looked for."""

    query: str
    top_k: int = 5
    include_page: bool = False
    allow_domains: tuple[str, ...] = ()
    """Only these domains and what is beneath them, as `read_domains` takes them; none: all. A local folder's domains
    are its top folders and its documents' hosts."""
    since: date | None = None
    until: date | None = None
    """The last day that counts, itself included."""
    within_s: float | None = None
    """How long others may take to answer, in all; none: as long as the provider is set to."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result, as data: never markup, never an instruction."""

    url: str
    title: str
    snippet: str
    published_at: str | None = None
    content: str | None = None
    duplicate_of: str | None = None
    """The url of an earlier hit that says nearly the same; marked, not dropped."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought, best first."""

    provider: str
    hits: tuple[Hit, ...]
    raw: JsonValue
    """What the provider said, as it said it; no secret is in it."""
    left_out: tuple[str, ...] = ()
    """What was not shown and why, a sentence each."""


class SearchProvider(Protocol):
    """Finds documents. Raises SearchError when there is no usable answer."""

    @property
    def name(self) -> str: ...

    def state(self) -> str:
        """Names all that an answer depends on besides the query; empty where nobody can know, as on the web."""
        ...

    def search(self, query: SearchQuery) -> Found: ...
