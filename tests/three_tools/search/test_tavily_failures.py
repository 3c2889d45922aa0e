"""A service that refuses, fails, breaks off or never ends."""

import socket

import pytest

from fakes.asker import KEY, PAGE, Asker
from fakes.tavily_server import (
    Scripted,
    bomb_in_a_bomb,
    deflate_bomb,
    endless,
    failed,
    gzip_bomb,
    large_page,
    on_the_wire,
    redirected,
    results,
    said,
    tavily_server,
)
from three_tools.errors import BadKey, ProviderDown, QueryRefused, QuotaSpent, SearchError
from three_tools.search.bounded_http import BoundedAdapter, open_session
from three_tools.search.provider import SearchQuery
from three_tools.search.tavily import TavilySearch


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, BadKey, "partner config"),
        (403, BadKey, "TAVILY_API_KEY"),
        (432, QuotaSpent, "used up"),
        (433, QuotaSpent, "used up"),
        (400, QueryRefused, "ask in other words"),
        (422, QueryRefused, "ask in other words"),
    ],
)
def test_a_refusal_is_told_apart_and_not_repeated(
    tavily: Asker, status: int, kind: type[SearchError], words: str
) -> None:
    """A bad key, a spent quota and a refused query each have their error and remedy, after one request."""
    error = tavily.fail(failed(status, "as the service says it"))
    assert type(error) is kind
    assert words in str(error)
    assert len(tavily.server.asked) == 1
    assert tavily.pauses == []


def test_a_spent_plan_is_not_waited_for(tavily: Asker) -> None:
    """A 429 that speaks of the plan's limit will not pass, and is not tried again."""
    error = tavily.fail(failed(429, "This request exceeds your plan's set usage limit."))
    assert isinstance(error, QuotaSpent)
    assert len(tavily.server.asked) == 1


def test_a_passing_failure_passes(tavily: Asker) -> None:
    """After a server error, a broken connection or too many requests the search is tried again, later and later."""
    tavily.server.answers(failed(500), Scripted(hang_up=True), results(PAGE))
    assert len(tavily.search().hits) == 1
    assert tavily.pauses == [1.0, 2.0]


def test_three_tries_are_enough(tavily: Asker) -> None:
    """A service that stays away is reported after three requests."""
    assert isinstance(tavily.fail(failed(503)), ProviderDown)
    assert len(tavily.server.asked) == 3
    assert isinstance(tavily.fail(failed(429, "Too many requests")), QuotaSpent)
    assert len(tavily.server.asked) == 6


@pytest.mark.parametrize(("header", "pause_s"), [("7", 7), ("0", 0), ("-3", 0), ("soon", 1), ("nan", 1), ("", 1)])
def test_the_service_says_how_long_to_wait(tavily: Asker, header: str, pause_s: float) -> None:
    """Retry-After is honoured; without a usable one the pause is ours."""
    tavily.server.answers(failed(429, "slow down", Retry_After=header), results(PAGE))
    tavily.search()
    assert tavily.pauses == [pause_s]


@pytest.mark.parametrize("header", ["21", "inf", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_long_wait_is_left_to_the_caller(tavily: Asker, header: str) -> None:
    """Asked to wait over 20 seconds, the search gives up at once instead of asking too early."""
    assert isinstance(tavily.fail(failed(429, "slow down", Retry_After=header)), QuotaSpent)
    assert tavily.pauses == []


@pytest.mark.parametrize(
    "answer",
    [
        Scripted(body=b"<html>gateway</html>"),
        Scripted(body=b""),
        Scripted(body=b"[" * 100_000),
        Scripted(body=b'{"results": ' + b"9" * 5000 + b"}"),
        Scripted(body=b"\xff\xfe{"),
        Scripted(204, b""),
        said([PAGE]),
        said(None),
        Scripted(body=b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_an_answer_that_cannot_be_read_is_no_answer(tavily: Asker, answer: Scripted) -> None:
    """What is not a JSON object is reported as the provider's fault."""
    assert isinstance(tavily.fail(answer), ProviderDown)


def test_nobody_listening_is_no_answer(tavily: Asker) -> None:
    """A refused connection is tried three times and reported."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
        provider = TavilySearch(KEY, closed, sleep=tavily.pauses.append, proxies={})
        with pytest.raises(ProviderDown, match="no connection"):
            provider.search(SearchQuery("x"))
    assert tavily.pauses == [1.0, 2.0]


def test_a_redirect_is_not_followed(tavily: Asker) -> None:
    """The key is not carried to where an answer points."""
    with tavily_server() as other:
        error = tavily.fail(redirected(f"{other.url}/search"))
        assert isinstance(error, ProviderDown)
        assert "points elsewhere" in str(error)
        assert other.asked == []
    assert len(tavily.server.asked) == 1


@pytest.mark.parametrize("bomb", [gzip_bomb(200), deflate_bomb(200), bomb_in_a_bomb(200)])
def test_a_bomb_is_not_unpacked(tavily: Asker, bomb: Scripted) -> None:
    """An answer that is small on the wire and larger than 64 MB unpacked is refused."""
    error = tavily.fail(bomb)
    assert isinstance(error, ProviderDown)
    assert "over 64 MB" in str(error)


def test_a_large_page_is_taken_and_cut(tavily: Asker) -> None:
    """A page of 60 MB comes through, and its hit keeps the first 200,000 characters and says so."""
    tavily.server.answers(large_page(60))
    (hit,) = tavily.search(include_page=True).hits
    assert hit.content is not None
    assert hit.content.endswith("x\n[… 59,800,000 more characters were cut]")
    assert isinstance(tavily.fail(large_page(65)), ProviderDown)


def test_an_endless_answer_ends(tavily: Asker) -> None:
    """An answer that drips for ever is cut off when its time is over, in its body or in its headers."""
    for answer in (endless(tavily.server.stopped), Scripted(drip_headers=True)):
        error = tavily.fail(answer, timeout_s=0.3)
        assert isinstance(error, ProviderDown)
        assert "too slow" in str(error)
    assert tavily.pauses == []


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        on_the_wire(HEAD + b'Content-Length: 500\r\n\r\n{"results": ['),
        on_the_wire(HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}"),
        on_the_wire(CHUNKED + b"zz\r\n{}\r\n"),
        on_the_wire(CHUNKED + b"-5\r\n{}\r\n"),
        on_the_wire(CHUNKED, then=b"0" * 1000),
        on_the_wire(HEAD, then=b"X-Many: x\r\n"),
        on_the_wire(HEAD + b"X-Large: ", then=b"x" * 1000),
        on_the_wire(b"\x00\xff" * 1000),
        on_the_wire(b"{}"),
    ],
)
def test_an_answer_that_breaks_off_is_asked_for_again(tavily: Asker, answer: Scripted) -> None:
    """A body shorter than it says, broken chunks, a flood of headers or no HTTP at all pass like a lost connection."""
    tavily.server.answers(answer, results(PAGE))
    assert len(tavily.search().hits) == 1
    error = tavily.fail(answer)
    assert isinstance(error, ProviderDown)
    assert "broke off" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        on_the_wire(b"", then=b"HTTP/1.1 100 Continue\r\n\r\n"),
        on_the_wire(CHUNKED, then=b"1\r\n \r\n"),
        on_the_wire(CHUNKED + b"2\r\n{}\r\n0\r\n", then=b"X-Trailer: x\r\n"),
    ],
)
def test_a_flood_ends_with_its_time(tavily: Asker, answer: Scripted) -> None:
    """Interim answers, tiny chunks or trailers without end are cut off when the time is over."""
    assert "too slow" in str(tavily.fail(answer, timeout_s=0.3))


@pytest.mark.parametrize("status", [101, 204, 304])
def test_an_answer_without_an_answer_is_none(tavily: Asker, status: int) -> None:
    """A status that has no body is reported as the provider's fault, and nothing is asked for again."""
    assert isinstance(tavily.fail(on_the_wire(b"HTTP/1.1 %d What\r\n\r\n" % status)), ProviderDown)
    assert len(tavily.server.asked) == 1


def test_a_search_takes_its_time_in_all(tavily: Asker) -> None:
    """Tries and pauses share one time: when a pause would not leave enough of it, the search gives up."""
    assert isinstance(tavily.fail(failed(503, Retry_After="18")), ProviderDown)
    assert tavily.pauses == [18.0]
    assert len(tavily.server.asked) == 2


def test_a_host_that_says_nothing_is_given_up(tavily: Asker) -> None:
    """A host that takes no connection is no connection, when its time is over."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with pytest.raises(ProviderDown, match="no connection to Tavily"):
            TavilySearch(KEY, url, 0.3, tavily.pauses.append, proxies={}).search(SearchQuery("x"))
        for one in waiting:
            one.close()


def test_a_search_may_have_less_time_than_the_provider(tavily: Asker) -> None:
    """Whoever asks may say how long it may take; a longer time than the provider's own changes nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for own_s, within_s in ((60, 0.3), (0.3, 60)):
            provider = TavilySearch(KEY, url, own_s, tavily.pauses.append, proxies={})
            with pytest.raises(ProviderDown, match=r"no whole answer after 0\.3 s"):
                provider.search(SearchQuery("x", within_s=within_s))


def test_an_unknown_certificate_is_named(tavily: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a secure connection the error names the setting that helps, and that setting is followed."""
    provider = TavilySearch(KEY, tavily.server.url.replace("http:", "https:"), sleep=tavily.pauses.append, proxies={})
    with pytest.raises(ProviderDown, match="REQUESTS_CA_BUNDLE"):
        provider.search(SearchQuery("x"))
    assert tavily.pauses == []
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/ours.pem")
    assert open_session(BoundedAdapter(1, 1), tavily.server.url, {}).verify == "/etc/ours.pem"


def test_ctrl_c_ends_a_pause(tavily: Asker) -> None:
    """An interrupt during a pause is no failure of the service: it ends the search, and nothing more is asked."""

    def interrupted(pause_s: float) -> None:
        raise KeyboardInterrupt

    tavily.server.answers(failed(503))
    with pytest.raises(KeyboardInterrupt):
        TavilySearch(KEY, tavily.server.url, sleep=interrupted, proxies={}).search(SearchQuery("x"))
    assert len(tavily.server.asked) == 1
