"""Search in a folder of documents, with a real index on a real disk."""

import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from three_tools.errors import ProviderDown
from three_tools.search.folder_files import file_url
from three_tools.search.folder_index import FolderIndex
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import Found, SearchQuery
from three_tools.search.snippet import make_snippet


class Library:
    """A folder, its index, and a clock by which every search looks for changes."""

    def __init__(self, path: Path) -> None:
        self.folder = path / "documents"
        self.folder.mkdir()
        self.index = path / "home" / "search" / "x.sqlite"
        self.time = 0.0
        self.provider = LocalFolderSearch(self.folder, self.index, self.tick)

    def tick(self) -> float:
        self.time += 10
        return self.time

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def search(self, query: str, **options: object) -> Found:
        return self.provider.search(SearchQuery(query, **options))  # type: ignore[arg-type]

    def urls(self, query: str, **options: object) -> list[str]:
        return [hit.url for hit in self.search(query, **options).hits]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def shelves(library: Library) -> Library:
    library.write("eia.gov/prices.md", "---\ntitle: Gas prices\ndate: 2026-03-02\n---\nGas prices rose by 4 %.")
    library.write(
        "iea/pumps.md",
        "---\nurl: https://www.iea.org/pumps\ndate: 2025-06-01\n---\n# Heat pumps\nHeat pumps sold well.",
    )
    library.write("notes.txt", "Our own notes on gas and heat pumps, undated.")
    return library


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
    assert shelves.urls("gas heat", allow_domains=("ea.org", "%", "")) == []


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


def test_the_index_follows_the_folder(library: Library) -> None:
    """New, changed, renamed and removed files are noticed by the next look."""
    path = library.write("a.txt", "tariff")
    assert library.urls("tariff quota") == ["file:a.txt"]
    library.write("sub/b.txt", "quota")
    assert sorted(library.urls("tariff quota")) == ["file:a.txt", "file:sub/b.txt"]
    path.write_text("nothing of it")
    assert library.urls("tariff quota") == ["file:sub/b.txt"]
    path.rename(library.folder / "c.txt")
    assert library.urls("nothing") == ["file:c.txt"]
    (library.folder / "c.txt").unlink()
    assert library.urls("nothing") == []


def test_a_look_is_good_for_a_while(tmp_path: Path) -> None:
    """Within five seconds of the last look the folder is not looked through again."""
    now = [0.0]
    (tmp_path / "a.txt").write_text("tariff")
    provider = LocalFolderSearch(tmp_path, tmp_path / "home" / "x", lambda: now[0])
    assert len(provider.search(SearchQuery("tariff")).hits) == 1
    (tmp_path / "b.txt").write_text("tariff")
    assert len(provider.search(SearchQuery("tariff")).hits) == 1
    now[0] = 5.1
    assert len(provider.search(SearchQuery("tariff")).hits) == 2
    provider.close()


def test_only_what_changed_is_read_again(library: Library) -> None:
    """A file of the same size and time is not opened again: here it could not be."""
    path = library.write("a.txt", "tariff")
    before = path.stat()
    library.urls("tariff")
    path.write_text("quotas")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert library.urls("tariff") == ["file:a.txt"]


def test_links_and_hidden_files_are_passed_over(library: Library, tmp_path: Path) -> None:
    """What a link points to, inside or outside, and what begins with a dot is not searched."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("tariff")
    (library.folder / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (library.folder / "folder").symlink_to(tmp_path / "outside")
    (library.folder / "loop").symlink_to(library.folder)
    os.mkfifo(library.folder / "pipe.txt")
    library.write(".hidden.txt", "tariff")
    library.write(".git/x.txt", "tariff")
    library.write("program.exe", "tariff")
    assert library.urls("tariff") == []


def test_an_unreadable_file_is_named_with_its_reason(library: Library) -> None:
    """A file that cannot be read is said to be left out, and the others are searched; mended, it is read."""
    library.write("a.txt", "tariff")
    library.write("broken.pdf", "tariff")
    found = library.search("tariff")
    assert [hit.url for hit in found.hits] == ["file:a.txt"]
    assert found.left_out == ("1 files could not be read: broken.pdf (not a readable .pdf file (PdfStreamError)).",)
    (library.folder / "broken.pdf").rename(library.folder / "mended.txt")
    assert len(library.urls("tariff")) == 2


def test_a_name_of_any_bytes_is_a_name(library: Library) -> None:
    """A file name that is no text, or holds control characters, is searched and spelt out in its address."""
    with open(os.path.join(os.fsencode(library.folder), b"\xff\n%.txt"), "wb") as stream:
        stream.write(b"tariff")
    assert library.urls("tariff") == ["file:%FF%0A%25.txt"]


@given(st.binary(min_size=1, max_size=30))
def test_an_address_leads_back_to_its_file(path: bytes) -> None:
    """Unquoted, the address is the path in the folder."""
    assert unquote_to_bytes(file_url(path).removeprefix("file:").encode()) == path


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    """Without the folder the error names it and the settings that help; a file in its place is no folder."""
    with pytest.raises(ProviderDown, match=r"(?s)no folder of documents at .*gone.*PARTNER_DOCUMENTS.*TAVILY_API_KEY"):
        LocalFolderSearch(tmp_path / "gone", tmp_path / "x").search(SearchQuery("x"))


def test_an_index_that_cannot_be_written_says_so(library: Library) -> None:
    """An index in a place that is no folder is reported with that place."""
    library.index.parent.parent.write_text("a file")
    with pytest.raises(ProviderDown, match="may you write"):
        library.search("x")


def overwrite(index: Path) -> None:
    index.write_bytes(b"not a database" * 1000)


def other_version(index: Path) -> None:
    with sqlite3.connect(index) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()


def drop_tables(index: Path) -> None:
    with sqlite3.connect(index) as db:
        db.execute("DROP TABLE texts")
    db.close()


def tear(index: Path) -> None:
    """Half of its pages are other bytes, its first is whole."""
    with index.open("r+b") as stream:
        stream.seek(4096 * 2)
        stream.write(b"\xa5" * (index.stat().st_size - 4096 * 2))


@pytest.mark.parametrize("damage", [overwrite, other_version, drop_tables, tear, Path.unlink])
def test_a_damaged_index_is_made_anew(shelves: Library, damage: Callable[[Path], None]) -> None:
    """An index that is garbage, of another version, incomplete, torn or gone is rebuilt without a word."""
    shelves.urls("gas")
    shelves.provider.close()
    damage(shelves.index)
    assert sorted(shelves.urls("gas")) == ["file:eia.gov/prices.md", "file:notes.txt"]


def update_in_process(folder: Path, index: Path, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    FolderIndex(folder, index).update()


def test_several_processes_share_an_index(library: Library) -> None:
    """Processes that build the same index at once leave each document in it once."""
    for number in range(60):
        library.write(f"{number}.txt", f"tariff number{number}")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [
        context.Process(target=update_in_process, args=(library.folder, library.index, barrier)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(library.urls("tariff", top_k=100)) == 60


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
