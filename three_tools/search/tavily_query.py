"""A query in the words that Tavily takes, and sentences about what could not be said in them."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from three_tools.errors import QueryRefused
from three_tools.search.domains import as_compared, read_domains
from three_tools.search.hygiene import is_within
from three_tools.search.provider import SearchQuery

MOST_CHARS = 400
MOST_RESULTS = 20
_SITE = re.compile(r"(?<!\S)(-?)site:(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TavilyQuery:
    """What is sent, field by field."""

    query: str
    max_results: int
    include_raw_content: bool
    include_domains: tuple[str, ...]
    exclude_domains: tuple[str, ...]
    start_date: str | None
    end_date: str | None
    left_out: tuple[str, ...]

    def parameters(self) -> dict[str, object]:
        """Only what was asked for: an empty list or a missing date is not sent."""
        return {
            "max_results": self.max_results,
            "include_raw_content": self.include_raw_content,
            "include_domains": list(self.include_domains) or None,
            "exclude_domains": list(self.exclude_domains) or None,
            "start_date": self.start_date,
            "end_date": self.end_date,
        }


def translate(query: SearchQuery) -> TavilyQuery:
    """Say a query as Tavily wants it: it refuses `site:` operators and over 400 characters."""
    said: list[str] = []
    words = " ".join(_SITE.sub(" ", query.query).split())
    if not words:
        raise QueryRefused(
            f"nothing to look for in the query {query.query[:100]!r}",
            "name the topic in a few words, without operators",
        )
    if query.top_k > MOST_RESULTS:
        said.append(f"Tavily gives at most {MOST_RESULTS} results; {query.top_k} were asked for.")
    return TavilyQuery(
        query=_shorten(words, said),
        max_results=max(1, min(query.top_k, MOST_RESULTS)),
        include_raw_content=query.include_page,
        include_domains=_included(query, said),
        exclude_domains=_sites(query.query, "-"),
        start_date=query.since.isoformat() if query.since else None,
        end_date=_day_after(query.until).isoformat() if query.until else None,
        left_out=tuple(said),
    )


def _shorten(words: str, said: list[str]) -> str:
    if len(words) <= MOST_CHARS:
        return words
    kept = words[: MOST_CHARS + 1].rpartition(" ")[0] or words[:MOST_CHARS]
    said.append(
        f"Tavily takes {MOST_CHARS} characters; the last {len(words) - len(kept)} of the query were not sent: "
        f"it ended with {kept[-40:]!r}."
    )
    return kept


def _included(query: SearchQuery, said: list[str]) -> tuple[str, ...]:
    """`site:` narrows what is allowed, and never widens it."""
    sites, allowed = _sites(query.query, ""), read_domains(query.allow_domains)
    if not allowed:
        return sites
    inside = tuple(site for site in sites if is_within(site, allowed))
    if outside := [site for site in sites if site not in inside]:
        said.append(f"{', '.join(outside)} is not among the allowed domains; site: was not followed there.")
    return inside or allowed


def _sites(text: str, sign: str) -> tuple[str, ...]:
    named = [
        re.sub(r"^(\*\.|https?://)", "", found[2].strip("\"'").lower())
        for found in _SITE.finditer(text)
        if found[1] == sign
    ]
    hosts = [as_compared(name.partition("/")[0].strip(".,;")) for name in named]
    return tuple(dict.fromkeys(host for host in hosts if host))


def _day_after(day: date) -> date:
    """Tavily's end date is the first day that no longer counts; ours is the last that does."""
    return day if day == date.max else day + timedelta(days=1)
