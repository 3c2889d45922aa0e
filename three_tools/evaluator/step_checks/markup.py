"""Text, Markdown, HTML and XML: well formed, and with something in it."""

from html.parser import HTMLParser
from typing import Any
from xml.parsers import expat

from .text import encoding_of, has_words

_PIECE = 1 << 16
_SILENT = frozenset(("script", "style", "head", "title", "template", "noscript"))


def check(file: Any) -> list[dict[str, Any]]:
    if file.kind == "xml":
        with open(file.object, "rb") as data:
            expat.ParserCreate().ParseFile(data)
        return [file.found("opens", 1)]
    has_text = _shows_text(file.object) if file.kind in ("html", "htm") else has_words(file.object)
    if not has_text:
        return [file.found("opens", 0, "there is no text in it", required=True)]
    return [file.found("opens", 1)]


class _Reader(HTMLParser):
    """Notices text that a browser would show."""

    def __init__(self) -> None:
        super().__init__()
        self.has_text = False
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (HTMLParser's)
        if tag in _SILENT and not self._silent:
            self._silent = tag
        elif tag == "body":
            self._silent = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        self.has_text = self.has_text or (not self._silent and not data.isspace())


def _shows_text(path: str) -> bool:
    reader = _Reader()
    with open(path, encoding=encoding_of(path)) as text:
        while not reader.has_text and (piece := text.read(_PIECE)):
            reader.feed(piece)
    if not reader.has_text:
        reader.close()
    return reader.has_text
