"""The text of a web page, with the title, date and address that it names."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_SILENT = {"script", "style", "noscript", "template", "svg"}
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|d[dlt]|div|figcaption|footer|h[1-6r]|header|li|main|nav|[ou]l|p|pre|section|"
    "table|t[dhr]|title"
)
_DATES = {"date", "article:published_time", "datepublished", "dc.date", "pubdate"}


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    title: str
    heading: str
    text: str
    canonical: str | None
    dates: tuple[str, ...]


def read_html(markup: str) -> Page:
    reader = _Reader(convert_charrefs=True)
    reader.feed(markup)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.text).splitlines())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Page("".join(reader.title), "".join(reader.heading), text, reader.canonical, tuple(reader.dates))


class _Reader(HTMLParser):
    """Collects what a reader would see, and what the head says about the page."""

    def __init__(self, *, convert_charrefs: bool) -> None:
        super().__init__(convert_charrefs=convert_charrefs)
        self.title: list[str] = []
        self.heading: list[str] = []
        self.text: list[str] = []
        self.canonical: str | None = None
        self.dates: list[str] = []
        self._silent = ""
        self._in = ""
        self._headed = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent:
            return
        if tag in _SILENT:
            self._silent = tag
        if tag == "title" or (tag == "h1" and not self._headed):
            self._in = tag
        if tag in ("meta", "link"):
            self._note({name: value or "" for name, value in attrs})
        if _BLOCKS.fullmatch(tag):
            self.text.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""
        if tag == self._in:
            self._headed = self._headed or tag == "h1"
            self._in = ""
        if _BLOCKS.fullmatch(tag):
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._in == "title":
            self.title.append(data)
            return
        if self._in == "h1":
            self.heading.append(data)
        self.text.append(data)

    def _note(self, attributes: dict[str, str]) -> None:
        named = attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or ""
        if named.lower() in _DATES:
            self.dates.append(attributes.get("content", ""))
        if "canonical" in attributes.get("rel", "").lower().split():
            self.canonical = attributes.get("href")
