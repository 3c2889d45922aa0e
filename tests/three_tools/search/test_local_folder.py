"""Search in a folder of documents, with a real index on a real disk."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fakes.library import Library
from three_tools.errors import ProviderDown
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import SearchQuery
from three_tools.search.snippet import make_snippet


def test_a_document_is_found_by_its_words(shelves: Library) -> None:
    """A hit has the document's own address, its title, its date and a snippet around the words."""
    found = shelves.search("how did heat pumps sell?", top_k=1)
    (hit,) = found.hits
    assert (hit.url, hit.title, hit.published_at) == ("https://www.iea.org/pumps", "Heat pumps", "2025-06-01")
    assert hit.snippet == "# Heat pumps Heat pumps sold well."
    assert hit.content is None
    assert (found.provider, found.left_out) == ("local_folder", ())


def test_a_document_without_an_address_is_named_by_its_path(shelves: Library) -> None:
    """Its address is `file:` and its path in the folder, and its title that of the file."""
    found = shelves.search("undated notes")
    assert (found.hits[0].url, found.hits[0].title) == ("file:notes.txt", "notes")


def test_the_page_comes_when_asked_for(shelves: Library) -> None:
    """`include_page` gives the whole text."""
    assert (
        shelves.search("undated", include_page=True).hits[0].content == "Our own notes on gas and heat pumps, undated."
    )


def test_words_are_found_in_their_other_forms(shelves: Library) -> None:
    """A plural or another ending finds the word."""
    assert shelves.urls("price") == ["file:eia.gov/prices.md"]
    assert shelves.urls("pumping") == ["https://www.iea.org/pumps", "file:notes.txt"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("価格", "ja"),
        ("ヒートポンプ", "ja"),
        ("gdp", "ja"),
        ("成長率", "ja"),
        ("市场", "zh"),
        ("가격", "ko"),
        ("電力市場", None),
    ],
)
def test_words_that_are_not_parted_are_found(library: Library, query: str, name: str | None) -> None:
    """A Chinese, Japanese or Korean word is found inside its sentence, and its snippet is around it."""
    library.write("ja.txt", "前文。" * 400 + "東京の電気の価格は上昇した。ヒートポンプとGDP成長率2026" + "後文。" * 400)
    library.write("zh.txt", "热泵市场在2025年增长了百分之十四")
    library.write("ko.txt", "전력 가격이 상승했다")
    library.write("en.txt", "A market of heat pumps")
    hits = library.search(query).hits
    assert [hit.url for hit in hits] == ([f"file:{name}.txt"] if name else [])
    for hit in hits:
        assert query in hit.snippet.lower()


def test_a_number_with_separators_is_one_number(library: Library) -> None:
    """1,200 is not a 1 and a 200, and is found however its thousands are parted; lists of years are their years."""
    library.write("a.txt", "Sold: 1,200 units at 3.50")
    library.write("b.txt", "1 person had 200 ideas and 3 of 50 were sold in 2021")
    library.write("c.txt", "verkauft: 1.200 Stück")
    assert sorted(library.urls("1,200")) == ["file:a.txt", "file:c.txt"]
    assert library.urls("$3.50") == ["file:a.txt"]
    assert library.urls("2020,2021,2022") == ["file:b.txt"]


@pytest.mark.parametrize("query", ["cafe", "café", "cafe\u0301", "CAFÉ", "creme", "viet", "việt", "elections"])
def test_accents_and_endings_do_not_hide_the_hit(library: Library, query: str) -> None:
    """With accents or without, composed or not, in another form: the word is found, and the snippet is around it."""
    filler = "filler " * 200
    library.write("a.txt", f"{filler}Le café, la cre\u0300me, việt nam: élection {filler}")
    (hit,) = library.search(query).hits
    assert "Le café, la crème, việt nam: élection" in hit.snippet


def test_a_title_counts_for_more(library: Library) -> None:
    """A word in the title stands above the same word in the text."""
    library.write("a.md", "tariffs and words of other kinds")
    library.write("b.md", "---\ntitle: Tariffs\n---\nwords of other kinds and more words")
    library.write("c.md", "nothing of interest")
    library.write("d.md", "nothing of interest either")
    library.write("e.md", "something else")
    assert library.urls("tariffs") == ["file:b.md", "file:a.md"]


def test_domains_are_hosts_and_top_folders(shelves: Library) -> None:
    """Allowed domains are hosts of documents and what is beneath them, or folders at the top."""
    assert shelves.urls("gas heat", allow_domains=("iea.org",)) == ["https://www.iea.org/pumps"]
    assert shelves.urls("gas heat", allow_domains=("EIA.gov",)) == ["file:eia.gov/prices.md"]
    assert shelves.urls("gas heat", allow_domains=("iea", "gov")) == [
        "https://www.iea.org/pumps",
        "file:eia.gov/prices.md",
    ]
    assert shelves.urls("gas heat", allow_domains=("ea.org", "%")) == []


def test_a_range_leaves_out_other_days_and_the_undated(shelves: Library) -> None:
    """Documents of other days are left out, and those without a date too, which is said with their number."""
    found = shelves.search("gas heat", since=date(2026, 1, 1), until=date(2026, 3, 2))
    assert [hit.url for hit in found.hits] == ["file:eia.gov/prices.md"]
    assert found.left_out == ("1 matching documents name no date and were left out of the range.",)
    assert shelves.urls("gas heat", until=date(2026, 3, 1)) == ["https://www.iea.org/pumps"]
    assert shelves.urls("gas heat", since=date(2026, 3, 3)) == []


def test_when_a_file_was_written_is_no_date(shelves: Library) -> None:
    """A document that names no date has none."""
    assert shelves.search("undated").hits[0].published_at is None


def test_nothing_found_is_no_error(shelves: Library) -> None:
    """Words that are nowhere, no words, and an empty folder give no hits."""
    assert shelves.urls("zebra") == shelves.urls("") == shelves.urls("?!") == []


def test_words_of_no_weight_are_dropped_unless_alone(library: Library) -> None:
    """Stop words do not bring documents in, and are looked for when there is nothing else."""
    library.write("a.txt", "to be or not to be")
    library.write("b.txt", "the tariff")
    assert library.urls("what is the tariff to be") == ["file:b.txt"]
    assert library.urls("to be or not to be") == ["file:a.txt"]


def test_copies_are_marked(library: Library) -> None:
    """Two files that say the same are both shown, the second pointing to the first."""
    text = "The ministry said on Monday that subsidies for heat pumps will end in the summer of next year."
    library.write("a.txt", text)
    library.write("b.txt", text)
    assert [hit.duplicate_of for hit in library.search("subsidies").hits] == [None, "file:a.txt"]


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    """Without the folder the error names it and the settings that help; a file in its place is no folder."""
    with pytest.raises(ProviderDown, match=r"(?s)no folder of documents at .*gone.*PARTNER_DOCUMENTS.*TAVILY_API_KEY"):
        LocalFolderSearch(tmp_path / "gone", tmp_path / "x").search(SearchQuery("x"))


def test_several_threads_share_a_provider(shelves: Library) -> None:
    """Searches from several threads at once each get their answer."""
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(shelves.urls, ["undated"] * 20))
    assert answers == [["file:notes.txt"]] * 20


@given(
    st.text(st.characters(exclude_categories=[]), max_size=40) | st.text('"*^:()-+{}NEARORANDNOT tariff\0', max_size=30)
)
@example('"')
@example("NEAR(a b, 3)")
@example("title : tariff")
@example("tariff* OR")
@example("_ ª ² \ud800")
@example("x " * 5000)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_any_query_is_only_words(shelves: Library, query: str) -> None:
    """No query whatever is an error: what looks like an operator is a word."""
    shelves.provider._clock = lambda: 0.0
    shelves.search(query)


def test_a_large_folder_is_ranked_as_a_whole(library: Library) -> None:
    """Where only documents with rare words are ranked, common words count too, and fill up what is missing."""
    for number in range(1200):
        library.write(f"{number}.txt", f"tariff {'quota ' if number % 3 == 0 else 'ordinary '}number{number}")
    library.write("best.txt", "zebra quota tariff")
    library.write("good.txt", "zebra ordinary words tariff")
    found = library.urls("zebra quota tariff", top_k=10)
    assert found[:2] == ["file:best.txt", "file:good.txt"]
    assert len(found) == 10


def test_a_snippet_is_where_the_words_are() -> None:
    """The snippet shows the place with the most different words, cut between words, and says that it is a part."""
    text = "tariff " + "filler " * 200 + "the zebra tariff quota " + "filler " * 200
    snippet = make_snippet(text, ("zebra", "tariff", "quota"))
    assert "the zebra tariff quota filler" in snippet
    assert snippet.startswith("… filler")
    assert snippet.endswith("filler …")
    assert len(snippet) < 400


@given(st.text("ab \n", max_size=900), st.lists(st.sampled_from(["a", "b", "ab", "c("]), max_size=3))
def test_a_snippet_is_words_of_the_text(text: str, stems: list[str]) -> None:
    """Between its ellipses a snippet is a part of the text, with its spaces made one."""
    snippet = make_snippet(text, tuple(stems)).removeprefix("… ").removesuffix(" …").strip()
    assert snippet.strip("…").strip() in " ".join(text.split())
