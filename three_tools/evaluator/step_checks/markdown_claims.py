"""Claims of a Markdown brief: paragraphs and list items with a figure in them."""

import re
from collections.abc import Iterator

from .prose import NOTES_TITLE, follow, is_claim, mentions

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*)")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)")
_NOTE = re.compile(r"\s{0,3}(?:[-*+]\s+)?\[\^?([\w-]{1,40})\](?:\s*:|(?=\s))\s*(.*)")
_LINK = re.compile(r"\]\(\s*<?((?:[^()\s>]|\([^()\s]*\))+)")
_FRONT_MATTER = re.compile(r"\A---\n(?:(?!---).*\n)*---\s*\n")
_MOST_TITLE = 100
_MOST_NOTE = 4000
_TITLE_LINE = 7
"""Below any heading: a line of its own that reads Sources."""


class _Brief:
    """Reads a brief line by line into blocks of prose and the notes they refer to."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.notes: dict[str, str] = {}
        self._open: list[str] = []
        self._note = ""
        self._notes_level = 0
        """The level of the heading above a list of sources; 0 outside one."""
        self._fence = ""

    def read(self, text: str) -> None:
        for line in _without_comments(_FRONT_MATTER.sub("", text)).splitlines():
            self._take(line)
        self._end()

    def _take(self, line: str) -> None:
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence):
                self._fence = ""
        elif fence:
            self._end()
            self._fence = fence[1]
        elif heading := _HEADING.match(line):
            self._end()
            self._head(len(heading[1]), heading[2].rstrip(" \t#"))
        elif self._open and len(self._open) == 1 and _UNDERLINE.match(line):
            title, self._open = self._open[0], []
            self._head(1 if "=" in line else 2, title)
        elif not self._open and len(line) < _MOST_TITLE and NOTES_TITLE.fullmatch(line):
            self._head(_TITLE_LINE, line)
        elif not line.strip() or line.lstrip().startswith("|"):
            self._end()
        else:
            self._take_prose(line)

    def _head(self, level: int, title: str) -> None:
        if self._notes_level and level > self._notes_level:
            return
        self._notes_level = level if NOTES_TITLE.fullmatch(title) else 0

    def _take_prose(self, line: str) -> None:
        item, note = _ITEM.match(line), _NOTE.match(line)
        if note and (self._notes_level or (line.lstrip().startswith("[") and "]:" in line)):
            self._end()
            self._name_note(note[1], note[2])
        elif self._notes_level:
            if item and item[1]:
                self._name_note(item[1], item[2])
            elif self._note:
                self._add_to_note(line)
        elif item:
            self._end()
            self._open = [item[2]]
        elif self._note:
            self._add_to_note(line)
        else:
            self._open.append(line.strip().lstrip("> "))

    def _name_note(self, name: str, text: str) -> None:
        self._note = name.lower()
        self.notes[self._note] = text

    def _add_to_note(self, line: str) -> None:
        if len(self.notes[self._note]) < _MOST_NOTE:
            self.notes[self._note] += f" {line.strip()}"

    def _end(self) -> None:
        if self._open:
            self.blocks.append(" ".join(self._open))
        self._open, self._note = [], ""


def _without_comments(text: str) -> str:
    """By looking once: a pattern would search to the end again from every comment that is not closed."""
    kept: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[place:start])
        place = end + 3
    return "".join([*kept, text[place:]])


def read_markdown(text: str) -> Iterator[tuple[str, list[str]]]:
    brief = _Brief()
    brief.read(text)
    for block in brief.blocks:
        links = _LINK.findall(block)
        shown = _LINK.sub("", block)
        if is_claim(shown):
            yield block, [*links, *mentions(block), *follow(block, brief.notes)]
