"""A query as the index takes it: quoted terms, ranked over the documents that hold its rarest ones."""

import sqlite3
from dataclasses import dataclass
from itertools import accumulate, takewhile

from three_tools.search.words import TOKENIZER, plain, words_of

MOST_TERMS = 32
ENOUGH_ROWS = 500
"""Documents that are worth ranking; terms are added from the rarest on until so many may hold one."""
COMMON = 0.85
"""A word in more of the documents than this tells nothing, and is slow to look for, unless it is all there is."""
_SNIPPET_STEMS = 8
_QUERY_CHARS = 10_000
_REMEMBERED = 50_000
_STOP_WORDS = """
a about after all also an and any are as at be been but by can could did do does for from had has have he her his how i
if in into is it its me more most my no not of on or our she should so some such than that the their them then there
these they this those to us was we were what when where which who whom why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a query that are looked for, those in the fewest documents first."""

    rare: tuple[str, ...]
    others: tuple[str, ...]
    stems: tuple[str, ...]
    """What the rarest of the words and their stems begin with."""

    @property
    def broad(self) -> str:
        """Every document that holds any of the words."""
        return _any_of((*self.rare, *self.others))

    @property
    def narrow(self) -> str:
        """Only documents that hold a rare word, ranked by all of them.

        Each word stands in it twice, so that the ranking is that of all words: the first half chooses the documents,
        and the second adds the weight of the common words without their thousands of documents.
        """
        return f"({_any_of(self.rare)}) AND ({_any_of((*self.rare, *self.others, *self.others))})"


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    stem: str
    documents: int


class Vocabulary:
    """Says in how many documents a word is, as the index's own tokenizer takes it; remembers what it counted."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._documents: int = db.execute("SELECT count(*) FROM files WHERE problem IS NULL").fetchone()[0]
        self._known: dict[str, _Word] = {}
        self._tokenizer = sqlite3.connect(":memory:", check_same_thread=False)
        self._tokenizer.execute(f"CREATE VIRTUAL TABLE asked USING fts5(word, tokenize = '{TOKENIZER}')")
        self._tokenizer.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(asked, 'instance')")

    def close(self) -> None:
        self._tokenizer.close()

    def terms(self, query: str) -> Terms | None:
        """The terms of a query; None when no document holds any of them."""
        words = list(words_of(query[:_QUERY_CHARS].lower()))  # said twice, a word counts twice
        informative = [word for word in words if word not in STOP_WORDS] or words
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._learn([word for word in dict.fromkeys(informative) if word not in self._known])
        known = (self._known[word] for word in informative)
        counted = sorted((word for word in known if word.documents), key=lambda word: word.documents)[:MOST_TERMS]
        if not counted:
            return None
        rows = accumulate(word.documents for word in counted)
        rare = max(1, sum(total <= ENOUGH_ROWS for total in rows))
        others = [word for word in counted[rare:] if word.documents <= self._documents * COMMON]
        stems = [word.stem for word in (*counted[:rare], *others)][:_SNIPPET_STEMS]
        return Terms(tuple(word.text for word in counted[:rare]), tuple(word.text for word in others), tuple(stems))

    def _learn(self, words: list[str]) -> None:
        for word, tokens in self._tokenize(words).items():
            documents = min((self._documents_with(token) for token in tokens), default=0)
            start = _common_start(plain(word), tokens[0]) if len(tokens) == 1 else word
            self._known[word] = _Word(word, start, documents)

    def _tokenize(self, words: list[str]) -> dict[str, list[str]]:
        tokens: dict[str, list[str]] = {word: [] for word in words}
        self._tokenizer.execute("DELETE FROM asked")
        self._tokenizer.executemany("INSERT INTO asked (rowid, word) VALUES (?, ?)", enumerate(words))
        for row, token in self._tokenizer.execute("SELECT doc, term FROM tokens"):
            tokens[words[row]].append(token)
        return tokens

    def _documents_with(self, token: str) -> int:
        row = self._db.execute("SELECT doc FROM words WHERE term = ?", (token,)).fetchone()
        return row[0] if row else 0


def _common_start(word: str, stem: str) -> str:
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(word, stem, strict=False))
    return "".join(char for char, _ in alike) or word


def _any_of(words: tuple[str, ...]) -> str:
    """Quoted, a word is never an operator; a word has no quote in it."""
    return " OR ".join(f'"{word}"' for word in words)
