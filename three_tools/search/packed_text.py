"""The text inside PDF and Word files, unpacked within bounds."""

import io
import logging
import zipfile
from xml.etree import ElementTree

MEMBER_BYTES = 100_000_000
PAGES = 5_000
_SILENCE = logging.NullHandler()


class UnreadableFile(Exception):
    """Why a file was skipped."""


def read_pdf(data: bytes, most_chars: int) -> tuple[str, str]:
    """A PDF's title and text. Its creation date is that of the file, not of what it says."""
    import pypdf

    logger = logging.getLogger("pypdf")
    if _SILENCE not in logger.handlers:
        logger.addHandler(_SILENCE)  # else each flaw of a file is printed
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableFile("it wants a password")
    pages: list[str] = []
    length = 0
    for page in reader.pages[:PAGES]:
        pages.append(page.extract_text())
        length += len(pages[-1])
        if length > most_chars:
            break
    title = reader.metadata.title if reader.metadata else None
    return title or "", "\n\n".join(pages)


def read_docx(data: bytes, most_chars: int) -> tuple[str, str]:
    """A Word file's title and paragraphs."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = _WordText(most_chars)
        _parse(_member(archive, "word/document.xml"), body)
        named = _WordText(most_chars)
        if "docProps/core.xml" in archive.namelist():
            _parse(_member(archive, "docProps/core.xml"), named)
    return "".join(named.title) or "".join(body.heading), "".join(body.text).strip()


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        content = member.read(MEMBER_BYTES + 1)
    if len(content) > MEMBER_BYTES:
        raise UnreadableFile(f"{name} in it is over {MEMBER_BYTES / 1e6:g} MB")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise UnreadableFile(f"{name} in it declares entities, which no Word file does")
    return content


def _parse(content: bytes, target: "_WordText") -> None:
    parser = ElementTree.XMLParser(target=target)  # noqa: S314 -- bounded, without a DTD, and no tree is built
    parser.feed(content)
    parser.close()


class _WordText:
    """Collects text as the parser comes by; no tree is built."""

    def __init__(self, most_chars: int) -> None:
        self.text: list[str] = []
        self.title: list[str] = []
        self.heading: list[str] = []
        self._room = most_chars
        self._tag = ""
        self._is_heading = False

    def start(self, tag: str, attrs: dict[str, str]) -> None:
        self._tag = tag.rpartition("}")[2]
        if self._tag == "pStyle" and not self.heading:
            style = next((value for name, value in attrs.items() if name.endswith("}val")), "").lower()
            self._is_heading = style.startswith(("heading", "title"))
        if self._tag in ("tab", "br"):
            self.text.append("\t" if self._tag == "tab" else "\n")

    def end(self, tag: str) -> None:
        if tag.endswith("}p"):
            self.text.append("\n")
            self._is_heading = False
        if tag.endswith("}tc"):
            self.text.append("\t")
        self._tag = ""

    def data(self, data: str) -> None:
        if self._tag == "title":
            self.title.append(data)
        if self._tag == "t" and self._room > 0:
            self._room -= len(data)
            self.text.append(data)
            if self._is_heading:
                self.heading.append(data)

    def close(self) -> None:
        """There is nothing to hand over: what was found stays here."""
