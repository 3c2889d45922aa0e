"""What a piece of prose says of its sources, in Markdown as in HTML."""

import re

from .sources import URL

_NOTES = r"(?:sources?|references?|notes?|footnotes?|endnotes?|citations?|bibliography)"
NOTES_TITLE = re.compile(rf"[\W\d]*(?:(?:data|key)\s)?{_NOTES}(?:\s(?:and|&)\s{_NOTES})?\W*", re.IGNORECASE)
REFERENCE = re.compile(r"\[\^?([\w-]{1,40}(?:\s?[,;–]\s?\^?[\w-]{1,40}){0,9})\]")
_MOST_NOTE = 2000
"""Characters: a note is a line or two."""
_NO_FIGURE = re.compile(
    r"`[^`]*`|\b(?:figure|fig\.|table|chart|section|chapter|appendix|page|step)\s\d+"
    r"|(?<![^\W\d_])(?!(?:eur|usd|gbp|chf)\d)[^\W\d_]+-?\d{1,2}(?!\d|[.,]\d)",  # a name, such as CO2 and Q3
    re.IGNORECASE,
)
_MENTION = re.compile(r"`([^`\n]{1,200})`|\(([^()\n]{1,200})\)")


def mentions(text: str) -> list[str]:
    """Addresses, what stands in backticks or parentheses, and every word that may be the name of a file."""
    inner = [first or second for first, second in _MENTION.findall(text)]
    parts = [part.strip("` ") for each in inner for part in re.split(r"[,;]\s|\s+", each)]
    names = [word.lstrip("*_`([\"'").rstrip("*_`)]\"'.,;:") for word in text.split() if "." in word]
    return [*URL.findall(text), *inner, *(part.rstrip(".,;:") for part in parts), *names]


def is_claim(text: str) -> bool:
    """Whether it has a figure that is no reference, address, or part of a name."""
    return any(char.isdecimal() for char in _NO_FIGURE.sub("", REFERENCE.sub("", URL.sub("", text))))


def follow(text: str, notes: dict[str, str]) -> list[str]:
    """What the notes that a text refers to name."""
    names = {name.strip(" ^").lower() for each in REFERENCE.findall(text) for name in re.split(r"[,;–]", each)}
    named: list[str] = []
    for name in sorted(names & notes.keys()):
        note = notes[name][:_MOST_NOTE]
        named += [note, *mentions(note)]
    return named
