"""What a provider sent, made into safe data: whole urls, plain text of bounded length, dates that are dates."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import cast
from urllib.parse import urlsplit

from three_tools.search.domains import as_compared
from three_tools.search.provider import Hit

TITLE_CHARS = 300
SNIPPET_CHARS = 2_000
CONTENT_CHARS = 200_000
URL_CHARS = 2_000
_BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
# Control characters, bidirectional overrides, surrogates without a partner, and tags, which no reader sees.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
_NOT_IN_A_URL = re.compile(r"[\s\x00-\x20\x7f-\x9f<>\"\\^`{|}\ud800-\udfff]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def safe_hits(items: object) -> tuple[list[Hit], tuple[str, ...]]:
    """The results that can be used, and a sentence about those that cannot."""
    listed = cast("list[object]", items) if isinstance(items, list) else []
    found = [_hit_of(item) for item in listed]
    hits = [hit for hit in found if hit]
    dropped = len(found) - len(hits)
    if not dropped:
        return hits, ()
    return hits, (f"{dropped} of {len(found)} results had no http or https address and were left out.",)


def safe_hit(
    url: str, title: object = None, snippet: object = None, published_at: object = None, content: object = None
) -> Hit:
    """A hit at an address that is known to be good."""
    text = None if content is None else clean_text(content)
    return Hit(
        url=url,
        title=clean_line(title, TITLE_CHARS) or url[:TITLE_CHARS],
        snippet=clean_line(snippet, SNIPPET_CHARS),
        published_at=clean_date(published_at),
        content=text or None,
    )


def web_url(value: object) -> str | None:
    """The address if it is http or https and names a host, else None."""
    if not isinstance(value, str):
        return None
    url = value.strip()
    if len(url) > URL_CHARS or _NOT_IN_A_URL.search(url):
        return None
    return url if host_of(url) and urlsplit(url).scheme in ("http", "https") else None


def host_of(url: str) -> str:
    """The host that an address names, as hosts are compared; empty when it names none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 -- a port that is no number raises here
        return as_compared(parts.hostname or "")
    except ValueError:
        return ""


def is_within(host: str, domains: Iterable[str]) -> bool:
    """Whether a host is one of the domains or beneath one of them."""
    names = [domain.strip().lower().strip(".") for domain in domains]
    return any(host == name or host.endswith(f".{name}") for name in names if name)


def clean_line(value: object, most_chars: int) -> str:
    """Any value as one line of text."""
    spaced = _BREAKS.sub(" ", _as_text(value)[: most_chars * 4])
    line = " ".join(_UNSEEN.sub("", spaced).split())
    return line if len(line) <= most_chars else f"{line[: most_chars - 1].rstrip()}…"


def clean_text(value: object) -> str:
    """Any value as lines of text; what is too long ends with a sentence that says how much was cut."""
    text = _UNSEEN.sub("", _as_text(value).replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) <= CONTENT_CHARS:
        return text
    return f"{text[:CONTENT_CHARS]}\n[… {len(text) - CONTENT_CHARS:,} more characters were cut]"


def clean_date(value: object) -> str | None:
    """A day as YYYY-MM-DD, or a moment in UTC; None for what is no date."""
    text = _as_text(value).strip()[:64]
    moment = _iso(text) or _rfc_2822(text)
    if isinstance(moment, datetime):
        try:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        except OverflowError:
            return None
    return moment.isoformat() if moment else None


def day_of(published_at: str) -> date:
    """The day of a date that `clean_date` gave."""
    return date.fromisoformat(published_at[:10])


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else datetime.fromisoformat(text)
    except ValueError:
        return None


def _rfc_2822(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _hit_of(item: object) -> Hit | None:
    """A result as Tavily and its like name its fields; any of them may be missing or of the wrong kind."""
    fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    url = web_url(fields.get("url"))
    if not url:
        return None
    return safe_hit(
        url, fields.get("title"), fields.get("content"), fields.get("published_date"), fields.get("raw_content")
    )
