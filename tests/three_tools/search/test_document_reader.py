"""A document that a parser chokes on costs a bounded time and no memory of ours."""

import io
import os
import zipfile
from collections.abc import Generator
from contextlib import closing

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from three_tools.search.document_reader import DocumentReader
from three_tools.search.documents import Document, read_document
from three_tools.search.packed_text import UnreadableFile

PAGE = b"<title>Tariffs</title><p>They rose."


def slow_pdf(size_mb: int) -> bytes:
    """A few kilobytes that unpack to millions of drawing commands."""
    content = DecodedStreamObject()
    content.set_data(b"BT 1 0 0 1 0 0 Tm () Tj ET\n" * (size_mb * 37_000))
    writer = PdfWriter()
    page = writer.add_blank_page(9, 9)
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): DictionaryObject()})
    page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def deep_docx() -> bytes:
    """100 KB that make a parser hold 4 GB: thirty million elements, each in the one before."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a>" * 33_000_000)
    return stream.getvalue()


@pytest.fixture
def reader() -> Generator[DocumentReader]:
    with closing(DocumentReader()) as reader:
        yield reader


def test_the_process_reads_as_we_would(reader: DocumentReader) -> None:
    """A document, and a reason why there is none, come out as they do without the process."""
    assert reader.read("a.html", PAGE) == read_document("a.html", PAGE)
    with pytest.raises(UnreadableFile, match=r"not a readable \.pdf"):
        reader.read("a.pdf", b"not a pdf")
    assert reader.read("b.html", "<p>Größe \U0001f600".encode()) == Document("b", "Größe \U0001f600")


def test_a_document_that_takes_too_long_is_left() -> None:
    """A PDF of a few kilobytes that takes minutes is given up when its time is over, and the next file is read."""
    with closing(DocumentReader(longest_s=1)) as reader:
        with pytest.raises(UnreadableFile, match="took over 1 s"):
            reader.read("a.pdf", slow_pdf(20))
        assert reader.read("a.html", PAGE).title == "Tariffs"


def test_a_document_that_takes_all_memory_is_left() -> None:
    """A Word file that would take gigabytes is refused, and the next file is read; a parser may also hang on it."""
    with closing(DocumentReader(longest_s=10, memory_bytes=400_000_000)) as reader:
        with pytest.raises(UnreadableFile, match=r"too much memory|MemoryError|took over"):
            reader.read("a.docx", deep_docx())
        assert reader.read("a.html", PAGE).title == "Tariffs"


def test_the_process_knows_no_key_and_ends_with_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our environment is not the reader's, and closing leaves no process behind."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    reader = DocumentReader()
    reader.read("a.html", PAGE)
    assert reader._worker is not None
    pid = reader._worker[0].pid
    with open(f"/proc/{pid}/environ", "rb") as stream:
        assert b"tvly-secret" not in stream.read()
    reader.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_plain_text_needs_no_process(reader: DocumentReader) -> None:
    """Kinds that cannot take long are read where we are."""
    assert reader.read("a.md", b"# Tariffs\nThey rose.").title == "Tariffs"
    assert reader._worker is None
