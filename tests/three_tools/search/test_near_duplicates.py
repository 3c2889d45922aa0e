"""Copies are marked and never dropped."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from three_tools.search.near_duplicates import canonical_url, mark_duplicates
from three_tools.search.provider import Hit

STORY = " ".join(random.Random(7).choices([f"word{number}" for number in range(400)], k=200))
OTHER = " ".join(random.Random(8).choices([f"word{number}" for number in range(400)], k=200))


def pages(*texts: str) -> list[Hit]:
    return [Hit(f"https://site{number}.example/", "A title", "", content=text) for number, text in enumerate(texts)]


def sources(hits: list[Hit]) -> list[str | None]:
    return [hit.duplicate_of for hit in mark_duplicates(hits)]


def test_a_copy_points_to_the_first() -> None:
    """Copies with another head, foot or case point to the first of them; another story does not."""
    copies = pages(
        STORY, OTHER, f"By our staff. {STORY.upper()} Read more here!", f"{STORY[: len(STORY) // 2]} {OTHER[:200]}"
    )
    assert sources(copies) == [None, None, "https://site0.example/", "https://site0.example/"]


def test_an_excerpt_is_a_copy_of_the_whole() -> None:
    """A part of a text is held by the whole, whichever comes first."""
    assert sources(pages(STORY[:400], STORY)) == [None, "https://site0.example/"]
    assert sources(pages(STORY, STORY[:400])) == [None, "https://site0.example/"]


def test_a_copy_of_a_copy_points_to_the_first() -> None:
    """A hit that is like a marked one points to where that one points."""
    words = STORY.split()
    chain = pages(" ".join(words[:100]), " ".join(words[45:145]), " ".join(words[90:190]))
    assert sources(chain) == [None, "https://site0.example/", "https://site0.example/"]


def test_short_texts_must_be_equal() -> None:
    """Under eight words only the same words are a copy; no words are a copy of nothing."""
    assert sources(
        pages("Prices rose by four percent", "Prices rose by four percent!", "Prices rose by four", "", "")
    ) == [
        None,
        "https://site0.example/",
        None,
        None,
        None,
    ]


def test_snippets_stand_in_for_pages() -> None:
    """Without a page the snippets are compared."""
    hits = [Hit(f"https://{name}.example/", "t", STORY) for name in "ab"]
    assert sources(hits) == [None, "https://a.example/"]


@pytest.mark.parametrize(
    "url",
    [
        "http://www.a.example/x",
        "https://A.example/x/",
        "https://a.example/x#part",
        "https://a.example/x?utm_source=mail&UTM_medium=y",
    ],
)
def test_one_page_under_two_addresses_is_one(url: str) -> None:
    """Scheme, www., fragment, utm_ parameters and a closing slash do not make another page."""
    first = Hit("https://a.example/x", "t", "One text.")
    assert sources([first, Hit(url, "t", "Another text altogether.")]) == [None, first.url]


def test_copies_without_spaces_are_alike() -> None:
    """A copy of a Chinese or Japanese text within another page is found as one of an English text is."""
    text = "経済産業省は月曜日に来年の夏にヒートポンプの補助金を終了すると発表した"
    first, second = Hit("https://a.example/", "t", text), Hit("https://b.example/", "t", f"速報{text}と通信社は伝えた")
    other = Hit("https://c.example/", "t", "東京電力の電気料金は来年も上昇すると予想されている")
    assert sources([first, second, other]) == [None, first.url, None]


@pytest.mark.parametrize(
    "url", ["https://a.example/x?id=2", "https://b.a.example/x", "https://a.example/X", "http://[::1"]
)
def test_other_addresses_are_other_pages(url: str) -> None:
    """A parameter, a host or a path that differs makes another page."""
    assert canonical_url(url) != canonical_url("https://a.example/x")


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.text("abc \n", max_size=60)), max_size=6))
def test_marking_changes_nothing_else(given: list[tuple[str, str]]) -> None:
    """Every hit is still there, in its order, and points only to an earlier hit that points nowhere."""
    hits = [Hit(f"https://{name}.example/", "t", text) for name, text in given]
    marked = mark_duplicates(hits)
    assert [(hit.url, hit.snippet) for hit in marked] == [(hit.url, hit.snippet) for hit in hits]
    for place, hit in enumerate(marked):
        roots = {earlier.url for earlier in marked[:place] if earlier.duplicate_of is None}
        assert hit.duplicate_of is None or hit.duplicate_of in roots
