"""Claims of an HTML brief: paragraphs and list items with a figure in them."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from .prose import NOTES_TITLE, follow, is_claim, mentions

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_SILENT = frozenset(("script", "style", "head", "pre", "template", "svg", "h1", "h2", "h3", "h4", "h5", "h6"))
_NOTES_NAME = re.compile(
    r"(?:^|[\s_-])(?:sources|references|notes|footnotes|endnotes|citations|bibliography)(?:$|[\s_-])"
)
_MOST_DEEP = 500


class _Node:
    """An open element, and what has been gathered in it."""

    __slots__ = ("given", "ids", "is_block", "is_note", "is_silent", "links", "tag", "words")

    def __init__(self, tag: str, attributes: dict[str, str], parent: "_Node | None") -> None:
        self.tag = tag
        self.words: list[str] = []
        self.links: list[str] = []
        self.ids = [attributes["id"]] if attributes.get("id") else []
        own = [attributes["data-source"]] if attributes.get("data-source") else []
        self.given: list[str] = own + (parent.given if parent else [])
        names = f"{attributes.get('id', '')} {attributes.get('class', '')} {attributes.get('role', '')}".lower()
        is_list = tag in ("section", "div", "footer", "aside", "ol", "ul", "dl", "nav")
        self.is_note = bool(parent and parent.is_note) or (is_list and bool(_NOTES_NAME.search(names)))
        self.is_silent = tag in _SILENT or bool(parent and parent.is_silent)
        self.is_block = tag in ("p", "li")


class _Brief(HTMLParser):
    """Gathers blocks of prose, and by their names the notes they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[str, list[str]]] = []
        self.notes: dict[str, str] = {}
        self._open = [_Node("", {}, None)]
        self._title: list[str] = []
        self._notes_level = 0
        """The level of the heading above a list of sources; 0 outside one."""
        self._counts: list[int] = [0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        top = self._open[-1]
        if (tag in ("p", "li") and top.tag == "p") or (tag == "li" and top.tag == "li"):
            self._close()  # their end tags may be left out
        if tag == "a" and attributes.get("href"):
            self._block().links.append(attributes["href"])
        if attributes.get("data-source") and tag in _VOID | {"span", "a", "b", "strong", "em", "sup", "data"}:
            self._block().links.append(attributes["data-source"])
        if tag in ("ol", "ul"):
            self._counts.append(0)
        if tag == "li":
            self._counts[-1] += 1
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._title = []
        if tag in _VOID:
            return
        if len(self._open) > _MOST_DEEP:
            raise RecursionError("its elements are nested too deeply")
        node = _Node(tag, attributes, self._open[-1])
        node.is_note = node.is_note or bool(self._notes_level)
        if not node.is_block and node.ids:
            self._block().ids += node.ids  # an anchor within a note names the note
        self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ol", "ul") and len(self._counts) > 1:
            self._close_to(tag)
            self._counts.pop()
        elif any(node.tag == tag for node in self._open):
            self._close_to(tag)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._head(int(tag[1]), "".join(self._title))

    def handle_data(self, data: str) -> None:
        top = self._open[-1]
        if any(node.tag[:1] == "h" and node.tag[1:].isdigit() for node in self._open[-3:]):
            self._title.append(data)
        if not top.is_silent:
            self._block().words.append(data)

    def finish(self) -> None:
        self.close()
        while len(self._open) > 1:
            self._close()

    def _head(self, level: int, title: str) -> None:
        if not self._notes_level or level <= self._notes_level:
            self._notes_level = level if NOTES_TITLE.fullmatch(title) else 0

    def _block(self) -> _Node:
        return next((node for node in reversed(self._open) if node.is_block), self._open[-1])

    def _close_to(self, tag: str) -> None:
        while len(self._open) > 1:
            if self._close() == tag:
                return

    def _close(self) -> str:
        node = self._open.pop()
        if node.is_block:
            self._keep(node)
        return node.tag

    def _keep(self, node: _Node) -> None:
        text = " ".join("".join(node.words).split())
        if node.is_note:
            number = re.match(r"\[?\^?(\d{1,4})[\].)]", text)
            names = [*node.ids, number[1] if number else str(self._counts[-1]) if node.tag == "li" else ""]
            for name in filter(None, names):
                self.notes[name.lower()] = " ".join([text, *node.links])
        elif not node.is_silent:
            self.blocks.append((text, [*node.links, *node.given]))


def read_html(text: str) -> Iterator[tuple[str, list[str]]]:
    brief = _Brief()
    brief.feed(text)
    brief.finish()
    for block, named in brief.blocks:
        if is_claim(block):
            anchors = "".join(f"[{name[1:]}]" for name in named if name.startswith("#"))
            yield block, [*named, *mentions(block), *follow(block + anchors, brief.notes)]
