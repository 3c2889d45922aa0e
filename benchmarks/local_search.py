"""Search in a folder of 10,000 documents, against rank_bm25 and bm25s."""

import json
import random
import statistics
import subprocess
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

from benchmarks.figure import Figure, in_turns, report, seconds
from benchmarks.peer_environment import search_python
from three_tools.search.folder_index import FolderIndex
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import SearchQuery

DOCUMENTS = 10_000
VOCABULARY = 30_000
QUERIES = 400
QUERY_WORDS = (4, 10)
TOP_K = 10
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_PEERS = ("rank_bm25", "bm25s")


class PeerSearch:
    """Our hold on the peers' process: one query at a time."""

    def __init__(self, documents: Path) -> None:
        self._process = subprocess.Popen(
            [search_python(), Path(__file__).with_name("search_peers.py"), documents],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._answer()

    def search(self, peer: str, words: list[str]) -> tuple[float, list[int]]:
        assert self._process.stdin  # noqa: S101 -- a pipe, as asked for
        print(json.dumps({"peer": peer, "words": words}), file=self._process.stdin)
        spent, found = json.loads(self._answer())
        return spent, found

    def close(self) -> None:
        self._process.communicate(timeout=30)

    def _answer(self) -> str:
        assert self._process.stdout  # noqa: S101 -- a pipe, as asked for
        if not (line := self._process.stdout.readline()):
            raise RuntimeError("the peers' process ended; its last words are above")
        return line


@dataclass(frozen=True, slots=True)
class Outcome:
    """Queries of so many words: the median seconds, and the share of known documents that were found."""

    words: int
    times: dict[str, float]
    recalls: dict[str, float]

    def figures(self) -> list[Figure]:
        what = f"a query of {self.words} words, to {TOP_K} hits"
        return [
            Figure(what, self.times["ours"], "rank_bm25, to ten numbers", self.times["rank_bm25"], 1 / 5),
            Figure(what, self.times["ours"], "bm25s, to ten numbers", self.times["bm25s"]),
        ]

    def remark(self) -> str:
        shares = ", ".join(f"{name} {recall:.3f}" for name, recall in self.recalls.items())
        verdict = "met" if self.recalls["ours"] >= self.recalls["bm25s"] else "missed"
        return (
            f"recall@{TOP_K} of the document that the {self.words} words are from, over {QUERIES} queries: {shares}. "
            f"The target, no worse than bm25s, is {verdict}."
        )


def main() -> None:
    chance = random.Random(0)
    documents = _documents(chance)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, documents)
        index = FolderIndex(folder / "documents", folder / "index.sqlite")
        building = seconds(lambda: all(iter(index.update, 0)))  # in parts, on a slow machine
        (unchanged,) = in_turns([index.update], 9)
        with closing(PeerSearch(folder / "documents.txt")) as peers:
            outcomes = [_measure(folder, peers, documents, words) for words in QUERY_WORDS]
    remarks = [
        "Ours reads titles and snippets from an index on disk; the peers give numbers from memory, and make",
        f"their index anew each time.\n\nThe first index takes {building:.1f} s; a look for changes that finds none",
        f"{unchanged * 1e3:.0f} ms. A search looks when the last look is over five seconds old; none of these did.",
    ]
    report(
        "local_search",
        f"A folder of {DOCUMENTS:,} documents",
        [figure for outcome in outcomes for figure in outcome.figures()],
        [*(outcome.remark() for outcome in outcomes), " ".join(remarks)],
    )


def _measure(folder: Path, peers: PeerSearch, documents: list[list[str]], words: int) -> Outcome:
    """Ours and the peers', asked in turns."""
    chance = random.Random(words)
    times: dict[str, list[float]] = {name: [] for name in ("ours", *_PEERS)}
    found: dict[str, int] = dict.fromkeys(times, 0)
    with closing(LocalFolderSearch(folder / "documents", folder / "index.sqlite", lambda: 0.0)) as ours:
        ours.search(SearchQuery("warm"))
        for number, query in (_query(chance, documents, words) for _ in range(QUERIES)):
            hits: list[str] = []
            times["ours"].append(seconds(partial(_search, ours, query, hits)))
            found["ours"] += f"file:{number}.txt" in hits
            for peer in _PEERS:
                spent, numbers = peers.search(peer, query)
                times[peer].append(spent)
                found[peer] += number in numbers
    return Outcome(
        words,
        {name: statistics.median(spent) for name, spent in times.items()},
        {name: count / QUERIES for name, count in found.items()},
    )


def _search(provider: LocalFolderSearch, words: list[str], hits: list[str]) -> None:
    hits += [hit.url for hit in provider.search(SearchQuery(" ".join(words), top_k=TOP_K)).hits]


def _documents(chance: random.Random) -> list[list[str]]:
    """A few hundred words each, as rare as in natural text: the n-th word comes with a frequency of 1 / n."""
    made = dict.fromkeys("".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(VOCABULARY * 2))
    words = list(made)[:VOCABULARY]
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    return [chance.choices(words, cum_weights=weights, k=chance.randint(150, 450)) for _ in range(DOCUMENTS)]


def _query(chance: random.Random, documents: list[list[str]], words: int) -> tuple[int, list[str]]:
    """A document's number, and some words of it that follow one another."""
    number = chance.randrange(len(documents))
    start = chance.randrange(len(documents[number]) - words)
    return number, documents[number][start : start + words]


def _write(folder: Path, documents: list[list[str]]) -> None:
    lines = [" ".join(words) for words in documents]
    (folder / "documents.txt").write_text("\n".join(lines))
    (folder / "documents").mkdir()
    for number, line in enumerate(lines):
        (folder / "documents" / f"{number}.txt").write_text(line)
