"""Web search with Tavily's own client, against a server on this machine."""

import json
import logging
import os
import traceback
from datetime import date
from pathlib import Path

import pytest

from fakes.asker import KEY, PAGE, Asker
from fakes.tavily_server import (
    Scripted,
    failed,
    results,
    said,
)
from three_tools.errors import BadKey, QueryRefused
from three_tools.search.provider import SearchQuery
from three_tools.search.tavily import TavilySearch


def test_a_result_becomes_a_hit(tavily: Asker) -> None:
    """A search gives hits with url, title, snippet, page and date, and what the service said as it said it."""
    news = {**PAGE, "published_date": "Mon, 02 Mar 2026 10:00:00 GMT", "raw_content": "The page."}
    tavily.server.answers(results(news))
    found = tavily.search(include_page=True)
    (hit,) = found.hits
    assert (hit.url, hit.title, hit.snippet) == ("https://one.example/a", "One", "Snippet.")
    assert (hit.published_at, hit.content) == ("2026-03-02T10:00:00Z", "The page.")
    assert found.provider == "tavily"
    assert found.left_out == ()
    assert isinstance(found.raw, dict)
    assert found.raw["results"] == [news]


def test_every_part_of_a_query_is_sent(tavily: Asker) -> None:
    """Number, page, domains and days reach the service in its own words, and the key as a header."""
    tavily.search(
        top_k=7, include_page=True, allow_domains=("one.example",), since=date(2026, 1, 1), until=date(2026, 6, 30)
    )
    (asked,) = tavily.server.asked
    assert asked.path == "/search"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "query": "heat pumps",
        "max_results": 7,
        "include_raw_content": True,
        "include_domains": ["one.example"],
        "start_date": "2026-01-01",
        "end_date": "2026-07-01",  # theirs is the first day that no longer counts
    }


def test_no_more_than_the_service_gives_is_asked_for(tavily: Asker) -> None:
    """Over twenty results are asked for as twenty, and it is said."""
    found = tavily.search(top_k=100)
    assert tavily.server.asked[0].body["max_results"] == 20
    assert "at most 20" in found.left_out[0]


def test_a_long_query_is_cut_between_words(tavily: Asker) -> None:
    """A query over 400 characters is sent up to its last whole word, and it is said."""
    found = tavily.search("evidence " * 60)
    sent = tavily.server.asked[0].body["query"]
    assert len(sent) <= 400
    assert sent.split() == ["evidence"] * len(sent.split())
    assert "400 characters" in found.left_out[0]
    tavily.search("x" * 1000)
    assert tavily.server.asked[1].body["query"] == "x" * 400


def test_site_operators_become_domains(tavily: Asker) -> None:
    """`site:` and `-site:` are sent as domains to include and to exclude."""
    tavily.search("heat pumps site:https://Eia.gov/data -site:*.spam.example costs")
    body = tavily.server.asked[0].body
    assert body["query"] == "heat pumps costs"
    assert body["include_domains"] == ["eia.gov"]
    assert body["exclude_domains"] == ["spam.example"]


def test_a_site_operator_narrows_and_never_widens(tavily: Asker) -> None:
    """With allowed domains, `site:` picks among them; one outside is not followed, and it is said."""
    tavily.search("x site:data.eia.gov", allow_domains=("eia.gov", "iea.org"))
    found = tavily.search("x site:evil.example", allow_domains=("eia.gov",))
    assert [asked.body["include_domains"] for asked in tavily.server.asked] == [["data.eia.gov"], ["eia.gov"]]
    assert "evil.example is not among the allowed domains" in found.left_out[0]


@pytest.mark.parametrize("query", ["", "  \n", "site:one.example"])
def test_a_query_without_words_is_not_sent(tavily: Asker, query: str) -> None:
    """Nothing to look for is refused here, before anything is sent."""
    with pytest.raises(QueryRefused, match="nothing to look for"):
        tavily.search(query)
    assert tavily.server.asked == []


def test_what_was_not_asked_for_is_left_out_and_counted(tavily: Asker) -> None:
    """Hits outside the domains, outside the days or beyond the number are left out; those without a date stay."""
    tavily.server.answers(
        results(
            PAGE,
            {**PAGE, "url": "https://sub.one.example/b", "published_date": "2026-03-01", "content": "Another."},
            {**PAGE, "url": "https://one.example/old", "published_date": "2020-03-01"},
            {**PAGE, "url": "https://notone.example/c"},
            {**PAGE, "url": "https://one.example/d", "content": "Third."},
        )
    )
    found = tavily.search(top_k=2, allow_domains=("one.example",), since=date(2026, 1, 1))
    assert [hit.url for hit in found.hits] == ["https://one.example/a", "https://sub.one.example/b"]
    assert [sentence[:9] for sentence in found.left_out] == ["1 results"] * 2 + ["2 results", "1 results"]


def test_copies_are_marked(tavily: Asker) -> None:
    """A hit that repeats an earlier one points to it and stays."""
    text = "The ministry said on Monday that subsidies for heat pumps will end in the summer of next year."
    copies = [{**PAGE, "url": f"https://{name}.example/", "content": text} for name in ("a", "b")]
    tavily.server.answers(results(*copies))
    assert [hit.duplicate_of for hit in tavily.search().hits] == [None, "https://a.example/"]


WRONG_SHAPES = [
    {},
    {"results": None},
    {"results": "none"},
    {"results": {"0": PAGE}},
    {"results": [None, 3, "x", [], {}, {"url": 5}, {"url": "javascript:alert(1)"}]},
]


@pytest.mark.parametrize("shape", WRONG_SHAPES)
def test_results_of_a_wrong_shape_are_no_hits(tavily: Asker, shape: object) -> None:
    """Results that are missing or of another kind give no hit and no error."""
    tavily.server.answers(said(shape))
    assert tavily.search().hits == ()


def test_results_without_an_address_are_counted(tavily: Asker) -> None:
    """What has no usable address is said to be left out."""
    tavily.server.answers(said(WRONG_SHAPES[-1]))
    assert tavily.search().left_out == ("7 of 7 results had no http or https address and were left out.",)


def test_the_key_is_in_no_log(
    tavily: Asker, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """With every logger at its most talkative, the request is told and the key is not."""
    caplog.set_level(logging.DEBUG)
    tavily.search()
    tavily.fail(failed(500, KEY))
    assert "POST /search" in caplog.text
    assert KEY not in caplog.text + "".join(map(str, capsys.readouterr()))


@pytest.mark.parametrize("key", ["", "  ", "tvly\nX-Evil: 1", "tvly a", "tvly-ü"])
def test_nothing_is_asked_without_a_key(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, or one that is none, is refused before a client exists, also when the environment has one."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-from-the-environment")
    with pytest.raises(BadKey, match="TAVILY_API_KEY") as caught:
        TavilySearch(key)
    assert key not in str(caught.value) or not key.strip()


@pytest.mark.parametrize("status", [400, 401, 403, 422, 429, 432, 500])
def test_the_key_is_in_no_message(tavily: Asker, status: int) -> None:
    """A service that repeats the key in its error does not get it into ours, nor into its traceback."""
    error = tavily.fail(failed(status, f"bad key {KEY}"))
    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown
    assert KEY not in repr(vars(error))


def test_the_key_is_in_no_answer(tavily: Asker) -> None:
    """A service that repeats the key in its answer does not get it into ours, and the rest can be written as JSON."""
    body = b'{"results": [{"url": "https://a.example/%s", "content": "\\ud800"}], "%s": NaN}'
    tavily.server.answers(Scripted(body=body.replace(b"%s", KEY.encode())))
    found = tavily.search()
    assert KEY not in repr(found)
    json.dumps(found.raw, allow_nan=False).encode()
    assert KEY not in repr(TavilySearch(KEY))


def test_the_environment_replaces_no_key(tavily: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A .netrc entry for the host does not stand in for the key, and a key of the environment neither."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login someone password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-other")
    tavily.search()
    assert tavily.server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_the_environment_names_the_proxy(tavily: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is used unless it is told which: here it is the server, asked for another host."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", tavily.server.url)
    TavilySearch(KEY, "http://tavily.invalid").search(SearchQuery("x"))
    assert tavily.server.asked[0].path == "http://tavily.invalid/search"
