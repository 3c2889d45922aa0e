"""What a piece of prose says of its sources, in Markdown as in HTML."""

import re

from .sources import URL

NOTES_TITLE = re.compile(
    r"\W*(?:sources?|references?|notes?|footnotes?|endnotes?|citations?|bibliography)\W*", re.IGNORECASE
)
REFERENCE = re.compile(r"\[\^?([\w-]{1,40})\]")
_MENTION = re.compile(r"`([^`\n]{1,200})`|\(([^()\n]{1,200})\)")


def mentions(text: str) -> list[str]:
    """Addresses, and what stands in backticks or parentheses."""
    inner = [first or second for first, second in _MENTION.findall(text)]
    parts = [part.strip("` ") for each in inner for part in re.split(r"[,;]\s|\s+", each)]
    return [*URL.findall(text), *inner, *(part.rstrip(".,;:") for part in parts)]


def is_claim(text: str) -> bool:
    """Whether it has a figure that is no reference, address or name of a file."""
    return any(char.isdigit() for char in REFERENCE.sub("", URL.sub("", re.sub(r"`[^`]*`", "", text))))


def follow(text: str, notes: dict[str, str]) -> list[str]:
    """What the notes that a text refers to name."""
    named: list[str] = []
    for reference in REFERENCE.findall(text):
        if (note := notes.get(reference.lower())) is not None:
            named += [note, *mentions(note)]
    return named
