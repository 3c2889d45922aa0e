"""Domains mean the same however they are written, and for every provider."""

from pathlib import Path

import pytest

from fakes.library import Library
from fakes.tavily_server import results, tavily_server
from three_tools.errors import QueryRefused
from three_tools.search.domains import read_domains
from three_tools.search.hygiene import host_of, is_within
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import SearchProvider, SearchQuery
from three_tools.search.tavily import TavilySearch

ACME = ["acme.example", "https://acme.example/", "http://ACME.example", "*.acme.example", ".acme.example"]
NAMES = [*ACME, "ACME.example.", " acme.example ", "acme.example/"]
NOT_DOMAINS = [
    "",
    " ",
    ".",
    "*",
    "/",
    "https://",
    "acme.example/blog",
    "acme.example:8080",
    "a@acme.example",
    "a*.example",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_is_meant_however_it_is_written(name: str, shelves: Library) -> None:
    """As an address, with a star, dots, capitals or spaces, it allows the same results from both providers."""
    shelves.write("acme.example/pumps.md", "Heat pumps of our own.")
    assert shelves.urls("pumps", allow_domains=(name,)) == ["file:acme.example/pumps.md"]
    with tavily_server([results({"url": "https://www.acme.example/"}, {"url": "https://other.example/"})]) as server:
        found = TavilySearch("tvly-x", server.url, proxies={}).search(SearchQuery("pumps", allow_domains=(name,)))
        assert [hit.url for hit in found.hits] == ["https://www.acme.example/"]
        assert server.asked[0].body["include_domains"] == ["acme.example"]


@pytest.mark.parametrize("name", NOT_DOMAINS)
def test_what_is_no_domain_is_refused(name: str, tmp_path: Path) -> None:
    """A path, a port or nothing at all is refused by both providers alike, before anything is looked for."""
    folder, web = LocalFolderSearch(tmp_path, tmp_path / "x"), TavilySearch("tvly-x", "http://127.0.0.1:1", proxies={})
    providers: list[SearchProvider] = [folder, web]
    said: set[str] = set()
    for provider in providers:
        with pytest.raises(QueryRefused, match=r"is not a domain\n.*eia\.gov") as caught:
            provider.search(SearchQuery("pumps", allow_domains=("iea.org", name)))
        said.add(str(caught.value))
    assert len(said) == 1
    assert repr(name) in said.pop()


@pytest.mark.parametrize(
    "domain", ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "bu\u0308cher.example"]
)
def test_a_domain_of_any_script_is_one_domain(domain: str) -> None:
    """A host spelt in its own letters and as the web spells it are the same, composed or not."""
    for url in ("https://www.bücher.example/x", "https://xn--bcher-kva.example/x"):
        assert is_within(host_of(url), read_domains([domain]))


def test_a_folder_of_any_name_is_allowed_by_its_name(library: Library) -> None:
    """A folder at the top may have spaces and accents in its name."""
    library.write("Müller & Co/a.txt", "tariff")
    library.write("other/b.txt", "tariff")
    assert library.urls("tariff", allow_domains=("müller & co",)) == ["file:Müller & Co/a.txt"]
