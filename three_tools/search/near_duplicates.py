"""Marks hits that say nearly the same as an earlier one: copies of one press release are one source, not five."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import parse_qsl, urlencode, urlsplit

from three_tools.search.provider import Hit
from three_tools.search.words import words_of

SHINGLE_WORDS = 5
ENOUGH = 0.5
"""The share of the shorter text's shingles that also stand in the other."""
_SHORT_WORDS = 8
_MOST_WORDS = 5_000


@dataclass(frozen=True, slots=True)
class _Look:
    """What of a hit is compared."""

    source: str
    address: str
    words: tuple[str, ...]
    shingles: frozenset[tuple[str, ...]]


def mark_duplicates(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The same hits in the same order; each points to the first hit that says what it says."""
    seen: list[_Look] = []
    marked: list[Hit] = []
    for hit in hits:
        look = _look(hit)
        source = next((other.source for other in seen if _alike(look, other)), None)
        seen.append(look if source is None else replace(look, source=source))
        marked.append(replace(hit, duplicate_of=source))
    return tuple(marked)


def canonical_url(url: str) -> str:
    """The address without what does not change the page: scheme, www., fragment, utm_ parameters, closing slash."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    host = parts.netloc.lower().removeprefix("www.")
    kept = [(name, value) for name, value in parse_qsl(parts.query, True) if not name.lower().startswith("utm_")]
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{host}{parts.path.rstrip('/')}{query}"


def containment(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """How much of the smaller set is in the other."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _look(hit: Hit) -> _Look:
    words = tuple(islice(words_of((hit.content or hit.snippet).lower()), _MOST_WORDS))
    shingles = frozenset(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False))
    return _Look(hit.url, canonical_url(hit.url), words, shingles)


def _alike(one: _Look, other: _Look) -> bool:
    if one.address == other.address:
        return True
    if min(len(one.words), len(other.words)) < _SHORT_WORDS:
        return bool(one.words) and one.words == other.words
    return containment(one.shingles, other.shingles) >= ENOUGH
