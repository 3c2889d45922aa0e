"""Web search through Tavily."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from three_tools.errors import BadKey
from three_tools.search.hygiene import clean_line, day_of, host_of, is_within, safe_hits
from three_tools.search.near_duplicates import mark_duplicates
from three_tools.search.provider import Found, Hit, SearchQuery
from three_tools.search.tavily_failure import KEY_REMEDY, Failure, of_error, of_status
from three_tools.search.tavily_query import TavilyQuery, translate

ADDRESS = "https://api.tavily.com"
MOST_BYTES = 64_000_000
TRIES = 3
LONGEST_WAIT_S = 20.0
LEAST_S = 1.0
"""With less time than this left it is not worth asking again."""


class TavilySearch:
    """Asks Tavily, with a key only: without one its client would quietly use the public, keyless service.

    Asks again when the service is busy or gone for a moment; a search takes `timeout_s` at most with all its tries and
    pauses. The key is in no message, answer or repr. `proxies` are those of the environment unless given; nothing
    else of the environment is trusted but its certificates.
    """

    def __init__(
        self,
        key: str,
        base_url: str | None = None,
        timeout_s: float = 30,
        sleep: Callable[[float], None] = time.sleep,
        *,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        self._key = key.strip()
        if not self._key:
            raise BadKey("there is no key for Tavily", KEY_REMEDY)
        if not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise BadKey("the key for Tavily has characters in it that no key has", KEY_REMEDY)
        self._base_url = (base_url or ADDRESS).rstrip("/")
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._proxies = proxies

    def __repr__(self) -> str:
        return f"TavilySearch({self._base_url!r})"

    @property
    def name(self) -> str:
        return "tavily"

    def state(self) -> str:
        return ""

    def search(self, query: SearchQuery) -> Found:
        asked = translate(query)
        raw = self._ask(asked, min(self._timeout_s, query.within_s or self._timeout_s))
        hits, unusable = safe_hits(raw.get("results"))
        kept, said = _keep_asked_for(hits, query, asked)
        return Found(self.name, mark_duplicates(kept), raw, (*asked.left_out, *unusable, *said))

    def _ask(self, asked: TavilyQuery, within_s: float) -> dict[str, JsonValue]:
        """Ask up to three times, with longer and longer pauses between, while there is time."""
        left_s = within_s
        for attempt in range(TRIES):
            began = time.monotonic()
            answer = self._ask_once(asked, left_s, pause_s=2.0**attempt)
            if not isinstance(answer, Failure):
                return answer
            left_s -= time.monotonic() - began
            last = attempt == TRIES - 1
            if last or answer.wait_s is None or answer.wait_s > min(LONGEST_WAIT_S, left_s - LEAST_S):
                raise answer.error
            self._sleep(answer.wait_s)
            left_s -= answer.wait_s
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _ask_once(self, asked: TavilyQuery, left_s: float, pause_s: float) -> dict[str, JsonValue] | Failure:
        from tavily import TavilyClient  # pyright: ignore[reportMissingTypeStubs] -- it ships none

        from three_tools.search.bounded_http import BoundedAdapter, open_session

        adapter = BoundedAdapter(MOST_BYTES, left_s)
        with open_session(adapter, self._base_url, self._proxies) as session:
            client: Any = TavilyClient(api_key=self._key, api_base_url=self._base_url, session=session)  # Any: untyped
            try:
                answer = client.search(asked.query, **asked.parameters())
                return cast("dict[str, JsonValue]", self._plain(answer))
            except Exception as error:  # the client lets a dozen kinds through, of four libraries: all are judged
                said = clean_line(str(error).replace(self._key, "***"), 200)
                failure = of_status(adapter.status, said, adapter.retry_after, pause_s)
                return failure or of_error(error, round(left_s, 1), pause_s)

    def _plain(self, value: object) -> JsonValue:
        """JSON that can be written again: without the key, half characters or numbers that JSON does not have."""
        if isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            return {str(self._plain(name)): self._plain(field) for name, field in fields.items()}
        if isinstance(value, list):
            return [self._plain(item) for item in cast("list[object]", value)]
        if isinstance(value, str):
            return value.replace(self._key, "***").encode(errors="replace").decode()
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return cast("JsonValue", value)


def _keep_asked_for(hits: Sequence[Hit], query: SearchQuery, asked: TavilyQuery) -> tuple[list[Hit], tuple[str, ...]]:
    """The hits that the query allows, whatever the service made of it, and sentences about the others."""
    inside = [hit for hit in hits if not asked.include_domains or is_within(host_of(hit.url), asked.include_domains)]
    kept = [hit for hit in inside if _is_in_range(hit, query)]
    undated = sum(hit.published_at is None for hit in kept)
    said = {
        f"{len(hits) - len(inside)} results lay outside the domains asked for.": len(hits) - len(inside),
        f"{len(inside) - len(kept)} results were dated outside the range asked for.": len(inside) - len(kept),
        f"{undated} results carry no date: Tavily chose them for the range, and this could not be checked.": (
            undated if query.since or query.until else 0
        ),
        f"{len(kept) - asked.max_results} results came beyond the number asked for.": len(kept) - asked.max_results,
    }
    return kept[: asked.max_results], tuple(sentence for sentence, count in said.items() if count > 0)


def _is_in_range(hit: Hit, query: SearchQuery) -> bool:
    if hit.published_at is None:
        return True
    day = day_of(hit.published_at)
    return (query.since is None or day >= query.since) and (query.until is None or day <= query.until)
