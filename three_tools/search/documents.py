"""Documents of the user's own as text: Markdown, plain text, HTML, PDF, Word and CSV."""

import codecs
import csv
import io
import os
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from three_tools.search.html_text import read_html
from three_tools.search.hygiene import TITLE_CHARS, clean_date, clean_line, web_url
from three_tools.search.packed_text import UnreadableFile, read_docx, read_pdf

FILE_BYTES = 50_000_000
TEXT_CHARS = 2_000_000
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|url|date|published_at)[ \t]*:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$|^(\S[^\n]*)\n={3,}[ \t]*$", re.MULTILINE)
_CHARSET = re.compile(rb"<meta[^>]{1,200}charset\s*=\s*[\"']?(?!utf-)([\w-]{1,40})", re.IGNORECASE)
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says. Its date is the one it names: when a file was last written is no publication."""

    title: str
    text: str
    url: str | None = None
    published_at: str | None = None


def read_document(name: str, data: bytes) -> Document:
    """The document in a file of this name. Raises UnreadableFile with the reason."""
    path = PurePath(name)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise UnreadableFile(f"{path.suffix or 'no suffix'} is not among {', '.join(sorted(_READERS))}")
    if len(data) > FILE_BYTES:
        raise UnreadableFile(f"over {FILE_BYTES / 1e6:g} MB")
    try:
        document = read(data)
    except UnreadableFile:
        raise
    except Exception as error:  # a parser may fail in any way on a file from anywhere: one file, not the folder
        raise UnreadableFile(f"not a readable {path.suffix} file ({type(error).__name__})") from None
    text = unicodedata.normalize("NFC", document.text.encode(errors="replace").decode())[:TEXT_CHARS]
    title = clean_line(document.title, TITLE_CHARS) or clean_line(path.stem, TITLE_CHARS)
    return Document(title or "untitled", text, document.url, document.published_at)


def is_document(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in _READERS


def decode(data: bytes) -> str:
    """Text in the encoding its first bytes name, else UTF-8, else as Windows and the older web wrote it."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _read_text(data: bytes) -> Document:
    text = decode(data).replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    fields = {name.lower(): _unquote(value.strip()) for name, value in _FIELD.findall(front[1])} if front else {}
    body = text[front.end() :] if front else text
    headings = ((found[1] or found[2]).rstrip("# \t") for found in _HEADING.finditer(body))
    title = fields.get("title") or next(filter(None, headings), "")
    date = clean_date(fields.get("published_at")) or clean_date(fields.get("date"))
    return Document(title, body.strip("\n"), web_url(fields.get("url")), date)


def _read_html(data: bytes) -> Document:
    page = read_html(_decode_page(data))
    date = next((date for date in map(clean_date, page.dates) if date), None)
    return Document(page.title or page.heading, page.text, web_url(page.canonical), date)


def _decode_page(data: bytes) -> str:
    """In the encoding that a page names in its head, when it is older than UTF-8 and is one."""
    named = _CHARSET.search(data, 0, 2_000)
    if named and not data.startswith(tuple(_BYTE_ORDER_MARKS)):
        try:
            return data.decode(named[1].decode(), errors="replace")
        except LookupError:
            return decode(data)
    return decode(data)


def _read_csv(data: bytes) -> Document:
    text = decode(data).replace("\0", "")[:TEXT_CHARS]
    try:
        rows = [", ".join(cell.strip() for cell in row) for row in csv.reader(io.StringIO(text, newline=""))]
    except csv.Error:
        return Document("", text)
    return Document("", "\n".join(rows))


def _read_pdf(data: bytes) -> Document:
    title, text = read_pdf(data, TEXT_CHARS)
    return Document(title, text)


def _read_docx(data: bytes) -> Document:
    title, text = read_docx(data, TEXT_CHARS)
    return Document(title, text)


def _unquote(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


_READERS: dict[str, Callable[[bytes], Document]] = {
    ".md": _read_text,
    ".markdown": _read_text,
    ".txt": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
    ".docx": _read_docx,
    ".csv": _read_csv,
}
