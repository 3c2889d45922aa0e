"""A search with Tavily's own client, of a server on this machine."""

import pytest

from fakes.tavily_server import (
    Scripted,
    TavilyServer,
)
from three_tools.errors import SearchError
from three_tools.search.provider import Found, SearchQuery
from three_tools.search.tavily import TavilySearch

KEY = "tvly-dev-0123456789abcdef"
PAGE = {"title": "One", "url": "https://one.example/a", "content": "Snippet.", "score": 0.9, "raw_content": None}


class Asker:
    """Searches the server, and remembers its pauses instead of making them."""

    def __init__(self, server: TavilyServer) -> None:
        self.server = server
        self.pauses: list[float] = []

    def search(self, query: str = "heat pumps", timeout_s: float = 30, **options: object) -> Found:
        provider = TavilySearch(KEY, self.server.url, timeout_s, self.pauses.append, proxies={})
        return provider.search(SearchQuery(query, **options))  # type: ignore[arg-type]

    def fail(self, *script: Scripted, timeout_s: float = 30, query: str = "heat pumps") -> SearchError:
        self.server.answers(*script)
        with pytest.raises(SearchError) as caught:
            self.search(query, timeout_s)
        return caught.value
