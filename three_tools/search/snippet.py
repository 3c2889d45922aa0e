"""The part of a text that a query's words stand closest together in."""

import re
from collections import Counter

from three_tools.search.words import WORD_START, plain

SNIPPET_CHARS = 320
_MOST_PLACES = 2_000
_MOST_CHARS = 500_000


def make_snippet(text: str, stems: tuple[str, ...]) -> str:
    """Plain text around the most of the words that begin with a stem; the text's own beginning if none does."""
    places = _places(text, stems)
    start = _best_start(places)
    if start + SNIPPET_CHARS > len(text):
        start = max(0, len(text) - SNIPPET_CHARS)
    begin = 0 if start == 0 else max(text.rfind(" ", 0, start), text.rfind("\n", 0, start)) + 1
    begin = max(begin, start - 40)
    end = begin + SNIPPET_CHARS
    if end < len(text):
        end = max(text.rfind(" ", begin, end), text.rfind("\n", begin, end), begin + SNIPPET_CHARS // 2)
    return f"{'… ' if begin else ''}{' '.join(text[begin:end].split())}{' …' if end < len(text) else ''}"


def _places(text: str, stems: tuple[str, ...]) -> list[tuple[int, str]]:
    """Where a word begins that begins so, with or without accents."""
    if not stems:
        return []
    longest_first = sorted(map(re.escape, stems), key=len, reverse=True)
    start = r"\b" if text.isascii() else WORD_START  # the first is several times as fast
    pattern = re.compile(f"{start}(?:{'|'.join(longest_first)})", re.IGNORECASE)
    found = pattern.finditer(plain(text[:_MOST_CHARS]))
    return [(match.start(), match[0].lower()) for match, _ in zip(found, range(_MOST_PLACES), strict=False)]


def _best_start(places: list[tuple[int, str]]) -> int:
    """A little before the first place of the window with the most different words."""
    best, best_start, first = 0, 0, 0
    inside: Counter[str] = Counter()
    for start, word in places:
        inside[word] += 1
        while start - places[first][0] > SNIPPET_CHARS - 80:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > best:
            best, best_start = len(inside), places[first][0]
    return max(0, best_start - 40)
