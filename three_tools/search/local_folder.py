"""Search in a folder of documents the user owns."""

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from three_tools.errors import ProviderDown
from three_tools.search.domains import read_domains
from three_tools.search.folder_files import walk
from three_tools.search.folder_index import LONGEST_UPDATE_S, FolderIndex, is_damage
from three_tools.search.hygiene import safe_hit
from three_tools.search.local_query import Terms, Vocabulary
from three_tools.search.near_duplicates import mark_duplicates
from three_tools.search.provider import Found, Hit, SearchQuery
from three_tools.search.snippet import make_snippet

MOST_RESULTS = 100
REFRESH_S = 5.0
_RANKED = """
SELECT files.id, files.title, files.url, files.published_at, texts.rank FROM texts JOIN files ON files.id = texts.rowid
WHERE texts MATCH :match AND texts.rank MATCH 'bm25(4.0, 1.0, 1.0)' AND {condition} ORDER BY texts.rank LIMIT :top_k
"""
_COUNTED = "SELECT count(*) FROM texts JOIN files ON files.id = texts.rowid WHERE texts MATCH :match AND {condition}"
_REMEDY = "make the folder, or set PARTNER_DOCUMENTS to one, or TAVILY_API_KEY to search the web"


class LocalFolderSearch:
    """Finds documents in a folder by their words, ranked by BM25 with the title counting fourfold.

    Looks for changed files at the first search, and then when the last look is over five seconds old; a look that
    takes over two minutes ends, says how many files it did not come to, and is gone on with by the next search.
    May be used by several threads; several processes may share the index.
    """

    def __init__(
        self,
        folder: Path,
        index: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        longest_look_s: float = LONGEST_UPDATE_S,
    ) -> None:
        self._folder = folder
        self._path = index
        self._index = FolderIndex(folder, index, longest_look_s)
        self._clock = clock
        self._looked_at: float | None = None
        self._unread = 0
        self._reader: _Reader | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return "local_folder"

    def state(self) -> str:
        """The documents as the folder lists them; the same files have the same state wherever they lie."""
        try:
            seen = sorted((path, file.size, file.mtime_ns) for path, file in walk(self._folder))
        except OSError:
            return ""
        return sha256(repr(seen).encode()).hexdigest()

    def search(self, query: SearchQuery) -> Found:
        if not self._folder.is_dir():
            raise ProviderDown(f"there is no folder of documents at {self._folder}", _REMEDY)
        with self._lock:
            try:
                return self._search(query)
            except (sqlite3.Error, OSError) as error:
                raise ProviderDown(
                    f"the index of {self._folder} cannot be used: {error}",
                    f"is there room, and may you write, in {self._path.parent}? The index can be deleted at any time",
                ) from None

    def close(self) -> None:
        with self._lock:
            self._close_reader()

    def _search(self, query: SearchQuery) -> Found:
        if self._unread or self._looked_at is None or self._clock() - self._looked_at > REFRESH_S:
            self._close_reader()
            self._unread = self._index.update()
            self._looked_at = self._clock()
        try:
            found = self._open_reader().search(query, self.name)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._close_reader()
            self._unread = self._index.rebuild()
            found = self._open_reader().search(query, self.name)
        if not self._unread:
            return found
        said = f"{self._unread} files are new or changed and were not read yet; the next search goes on with them."
        return replace(found, left_out=(said, *found.left_out))

    def _open_reader(self) -> "_Reader":
        if self._reader is None:
            self._reader = _Reader(self._index.open())
        return self._reader

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


class _Reader:
    """Answers queries from the index as it is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._vocabulary = Vocabulary(db)
        self._unread = _say_unread(db)

    def close(self) -> None:
        self._vocabulary.close()
        self._db.close()

    def search(self, query: SearchQuery, provider: str) -> Found:
        domains, days, given = _conditions(query)
        terms = self._vocabulary.terms(query.query)
        if terms is None:
            return Found(provider, (), {"terms": [], "results": []}, self._unread)
        given["top_k"] = max(1, min(query.top_k, MOST_RESULTS))
        rows = self._rank(terms, f"{domains} AND {days}", given)
        hits: list[Hit] = []
        for id_, title, url, date, _ in rows:
            (text,) = self._db.execute("SELECT text FROM texts WHERE rowid = ?", (id_,)).fetchone()
            snippet = make_snippet(text, terms.stems)
            hits.append(safe_hit(url, title, snippet, date, text if query.include_page else None))
        results: list[JsonValue] = [{"url": row[2], "score": round(-row[4], 6)} for row in rows]
        raw: dict[str, JsonValue] = {"terms": [*terms.rare, *terms.others], "results": results}
        said = self._say_undated(terms, domains, given) if days != "true" else ()
        return Found(provider, mark_duplicates(hits), raw, (*said, *self._unread))

    def _rank(self, terms: Terms, condition: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:  # Any: SQLite's
        """Few documents with a rare word are found fast; where they are too few, all with any word are ranked."""
        statement = _RANKED.format(condition=condition)
        rows = self._db.execute(statement, {**given, "match": terms.narrow}).fetchall()
        if len(rows) < given["top_k"] and terms.others:
            rows = self._db.execute(statement, {**given, "match": terms.broad}).fetchall()
        return rows

    def _say_undated(self, terms: Terms, domains: str, given: dict[str, Any]) -> tuple[str, ...]:  # Any: SQLite's
        statement = _COUNTED.format(condition=f"{domains} AND files.published_at IS NULL")
        count = self._db.execute(statement, {**given, "match": terms.broad}).fetchone()[0]
        return (f"{count} matching documents name no date and were left out of the range.",) if count else ()


def _conditions(query: SearchQuery) -> tuple[str, str, dict[str, Any]]:  # Any: SQLite's
    """SQL about domains, SQL about days, and the values of both."""
    given: dict[str, Any] = {}
    domains: list[str] = []
    for place, name in enumerate(read_domains(query.allow_domains)):
        given[f"domain{place}"] = f".{name}".encode(errors="replace").decode()
        ends = "substr('.' || files.{column}, -length(:domain{place})) = :domain{place}"
        domains += [ends.format(column=column, place=place) for column in ("host", "top")]
    days = ["files.published_at IS NOT NULL"] if query.since or query.until else []
    for name, sign, day in (("since", ">=", query.since), ("until", "<=", query.until)):
        if day:
            days.append(f"substr(files.published_at, 1, 10) {sign} :{name}")
            given[name] = day.isoformat()
    where = f"({' OR '.join(domains)})" if domains else "true"
    return where, " AND ".join(days) or "true", given


def _say_unread(db: sqlite3.Connection) -> tuple[str, ...]:
    """A sentence about the files that are not searched."""
    (count,) = db.execute("SELECT count(*) FROM files WHERE problem IS NOT NULL").fetchone()
    rows = db.execute("SELECT url, problem FROM files WHERE problem IS NOT NULL ORDER BY path LIMIT 3")
    named = "; ".join(f"{url.removeprefix('file:')} ({problem})" for url, problem in rows)
    return (f"{count} files could not be read: {named}{'; …' if count > 3 else ''}.",) if count else ()
