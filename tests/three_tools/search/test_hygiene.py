"""What a provider sent is safe data."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from three_tools.search.hygiene import clean_date, clean_text, day_of, host_of, is_within, safe_hits, web_url
from three_tools.search.provider import Hit

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(["https://a.example/x", "http://[::1", "ftp://a.example", "//x", "https://"]) | anything,
        **dict.fromkeys(("title", "content", "published_date", "raw_content"), anything),
    },
)


def only_hit(**given: object) -> Hit:
    ((hit,), said) = safe_hits([{"url": "https://a.example/", **given}])
    assert said == ()
    return hit


@given(st.lists(fields | anything, max_size=4) | anything)
def test_whatever_comes_becomes_safe_hits(items: object) -> None:
    """Any JSON whatever gives hits with an http address, one-line titles and snippets, and text that can be written."""
    hits, _ = safe_hits(items)
    for hit in hits:
        assert hit.url.startswith(("http://", "https://"))
        for line in (hit.title, hit.snippet):
            assert not {unicodedata.category(char) for char in line} & {"Cc", "Cs", "Zl", "Zp"}
        assert len(hit.title) <= 300
        assert len(hit.snippet) <= 2_000
        f"{hit.title}{hit.snippet}{hit.content}{hit.published_at}".encode()


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://a.example/",
        "https://",
        "https:///path",
        "http://[::1",
        "http://a.example:port/",
        "//a.example/",
        "a.example/page",
        "https://a.example/a b",
        "https://a.example/\x1b[2J",
        "https://a.example/" + "x" * 3000,
        "",
        None,
        7,
    ],
)
def test_an_address_that_is_not_of_the_web_is_left_out(url: object) -> None:
    """Only http and https addresses with a host are kept, and the others are counted."""
    assert safe_hits([{"url": url, "title": "x"}]) == (
        [],
        ("1 of 1 results had no http or https address and were left out.",),
    )


def test_markup_stays_text() -> None:
    """Markup is data and stays as it came: who shows it escapes it."""
    hit = only_hit(title="<script>alert(1)</script>", content="<b>x</b>", raw_content="<script>")
    assert (hit.title, hit.snippet, hit.content) == ("<script>alert(1)</script>", "<b>x</b>", "<script>")


def test_what_cannot_be_seen_is_removed() -> None:
    """Escape sequences, direction overrides and invisible tags go; a line break in a snippet becomes a space."""
    hit = only_hit(
        title="\x1b[2Ja\u202eb\U000e0041c", content="one\ntwo\r\n\tthree\u2028four", raw_content="a\x00\r\nb\tc\ud800"
    )
    assert (hit.title, hit.snippet, hit.content) == ("[2Jabc", "one two three four", "a\nb\tc")


def test_long_texts_end() -> None:
    """Titles and snippets are cut with an ellipsis, pages with a sentence that says how much is missing."""
    hit = only_hit(title="t" * 1000, content="s" * 5000, raw_content="c" * 200_123)
    assert len(hit.title) == 300
    assert len(hit.snippet) == 2000
    assert hit.content == "c" * 200_000 + "\n[… 123 more characters were cut]"
    assert clean_text("c" * 200_000) == "c" * 200_000


def test_missing_fields_are_empty() -> None:
    """A result with an address alone is a hit named by it."""
    assert only_hit() == Hit("https://a.example/", "https://a.example/", "")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-03-02", "2026-03-02"),
        ("2026-03-02T23:30:00-02:00", "2026-03-03T01:30:00Z"),
        ("2026-03-02T10:00:00Z", "2026-03-02T10:00:00Z"),
        ("2026-03-02 10:00", "2026-03-02T10:00:00Z"),
        ("Mon, 02 Mar 2026 10:00:00 GMT", "2026-03-02T10:00:00Z"),
        ("Mon, 02 Mar 2026 10:00:00 +0200", "2026-03-02T08:00:00Z"),
        ("2026-02-30", None),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("", None),
        (None, None),
        (20260302.5, None),
        (["2026-03-02"], None),
    ],
)
def test_a_date_is_a_date_or_nothing(given: object, kept: str | None) -> None:
    """ISO 8601 and mail dates become a day or a moment in UTC; anything else is no date."""
    assert clean_date(given) == kept


def test_the_day_of_a_date_is_that_of_utc() -> None:
    """Ranges are compared by the day in UTC."""
    assert day_of("2026-03-03T01:30:00Z") == date(2026, 3, 3)


@pytest.mark.parametrize(
    ("url", "domain", "within"),
    [
        ("https://eia.gov/x", "eia.gov", True),
        ("https://www.EIA.gov./x", "Eia.gov", True),
        ("https://noteia.gov/", "eia.gov", False),
        ("https://eia.gov.evil.example/", "eia.gov", False),
        ("https://eia.gov@evil.example/", "eia.gov", False),
        ("https://evil.example/eia.gov", "eia.gov", False),
        ("https://eia.gov/", "", False),
    ],
)
def test_a_domain_holds_what_is_beneath_it(url: str, domain: str, within: bool) -> None:
    """A host is within a domain when it is the domain or ends with it after a dot."""
    assert is_within(host_of(url), [domain]) is within
    assert web_url(url) == url
