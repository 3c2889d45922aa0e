"""Documents of every kind become text, or a reason why not."""

import io
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from three_tools.search.documents import FILE_BYTES, TEXT_CHARS, Document, decode, read_document
from three_tools.search.packed_text import MEMBER_BYTES, UnreadableFile

KINDS = ["a.md", "a.markdown", "a.txt", "a.html", "a.htm", "a.pdf", "a.docx", "a.csv"]
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(text: str, title: str = "", password: str = "") -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1")})
    font[NameObject("/BaseFont")] = NameObject("/Helvetica")
    fonts = DictionaryObject({NameObject("/F1"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    content = DecodedStreamObject()
    content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = writer._add_object(content)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def docx(body: str, **members: bytes) -> bytes:
    stream = io.BytesIO()
    document = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", members.get("document", document.encode()))
        if "core" in members:
            archive.writestr("docProps/core.xml", members["core"])
    return stream.getvalue()


def test_front_matter_names_title_address_and_date() -> None:
    """A block between --- lines gives title, url and date, and is not part of the text."""
    front = b"---\r\nTitle: 'Heat pumps: a review'\nurl: https://iea.org/x\ndate: 2026-03-02\ntags: [a]\n---\n"
    data = front + b"\n# Other\nText.\n"
    assert read_document("a.md", data) == Document(
        "Heat pumps: a review", "# Other\nText.", "https://iea.org/x", "2026-03-02"
    )


def test_published_at_is_taken_before_date() -> None:
    """`published_at` may be a moment, and stands before `date`; an address that is none is dropped."""
    data = b"---\ndate: 2020-01-01\npublished_at: 2026-03-02T10:00:00+02:00\nurl: javascript:x\n---\nText"
    assert read_document("a.txt", data) == Document("a", "Text", None, "2026-03-02T08:00:00Z")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Intro\n\n## The  first heading ##\n# Second", "The first heading"),
        ("Over lines\n==========\ntext", "Over lines"),
        ("## ##\n# After an empty one", "After an empty one"),
        ("no heading", "notes"),
        ("", "notes"),
        ("---\nnot closed\n# Heading", "Heading"),
    ],
)
def test_a_title_is_the_first_heading_or_the_file_name(text: str, title: str) -> None:
    """Without a named title it is the first heading, and without one the name of the file."""
    assert read_document("folder/notes.md", text.encode()).title == title


@pytest.mark.parametrize("text", ["# a" + "#" * 60_000 + "b", "# a" + " " * 60_000 + "b", "# #\n" * 60_000])
def test_a_title_is_found_in_a_time_in_proportion(text: str) -> None:
    """A line of many signs or spaces costs no more than as many letters, and not their number squared."""
    began = time.perf_counter()
    for document in (text, f"---\ntitle: {text}\n---\n"):
        assert read_document("notes.md", document.encode()).title
    assert time.perf_counter() - began < 3


def test_a_web_page_is_its_text() -> None:
    """A page gives its title, date, address and visible text: no script, no style, entities as characters."""
    page = b"""<html><head><title>Q1 &amp; Q2</title><style>p {color: red}</style>
    <meta property="article:published_time" content="2026-03-02T10:00:00Z"><link rel="canonical" href="https://a.example/q">
    <script>if (a < b) { alert("x") }</script></head>
    <body><h1>Sales</h1><p>Up &gt; 4&nbsp;%</p><div>next<br/>line</div></body></html>"""
    document = read_document("a.html", page)
    assert (document.title, document.url, document.published_at) == (
        "Q1 & Q2",
        "https://a.example/q",
        "2026-03-02T10:00:00Z",
    )
    assert document.text.split() == ["Sales", "Up", ">", "4", "%", "next", "line"]


def test_a_page_without_a_title_is_named_by_its_heading() -> None:
    """The first h1 stands in for a missing title; `<meta name=date>` is a date too."""
    document = read_document("a.htm", b"<meta name='date' content='2026-03-02'><h1>First</h1><h1>Second</h1>")
    assert (document.title, document.published_at) == ("First", "2026-03-02")


@pytest.mark.parametrize(
    ("head", "encoding", "text"),
    [
        ("<meta charset=shift_jis>", "shift_jis", "電気の価格"),
        ("<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>", "cp1251", "цены на газ"),
        ("<meta charset='GBK'>", "gbk", "热泵市场"),
        ("<meta charset=utf-8>", "utf-8", "Größe"),
        ("<meta charset=utf-8>", "utf-16", "Größe"),
        ("<meta charset=utf-8>", "cp1252", "Größe"),
        ("<meta charset=utf-16>", "utf-8", "Größe"),
        ("<meta charset=no-such>", "utf-8", "Größe"),
        ("<meta charset=zlib>", "utf-8", "Größe"),
    ],
)
def test_a_page_is_read_in_the_encoding_it_names(head: str, encoding: str, text: str) -> None:
    """A page that names its encoding is read so, unless its first bytes say otherwise or there is no such encoding."""
    assert read_document("a.html", f"<html>{head}<p>{text}".encode(encoding)).text == text


def test_a_pdf_is_its_text() -> None:
    """A PDF gives its words and its title; when it was made is no publication date."""
    document = read_document("a.pdf", pdf("Heat pumps sold well", "Annual report"))
    assert (document.title, document.text, document.published_at) == ("Annual report", "Heat pumps sold well", None)


def test_a_word_file_is_its_paragraphs() -> None:
    """A Word file gives its paragraphs, and its title or first heading."""
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>The </w:t><w:t>plan</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>One &lt;two&gt;</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
    )
    document = read_document("a.docx", docx(body))
    assert (document.title, document.text) == ("The plan", "The plan\nOne <two>\tthree")
    core = b'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Named</dc:title></c>'
    assert read_document("a.docx", docx(body, core=core)).title == "Named"


def test_a_table_is_its_rows() -> None:
    """A CSV file gives a line for each row."""
    assert read_document("sales.csv", b'region,"units, sold"\r\nNorth,4\r\n') == Document(
        "sales", "region, units, sold\nNorth, 4"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_text_is_read_in_the_encoding_it_was_written_in(encoding: str) -> None:
    """UTF-8 and UTF-16 with or without their marks, and what Windows wrote, come out the same."""
    assert decode("Größe – 80".replace("–", "-").encode(encoding)) == "Größe - 80"


def test_bytes_of_no_encoding_are_text_all_the_same() -> None:
    """A byte that no encoding knows loses nothing of the rest."""
    assert decode(b"caf\xe9 \x81 x") == "café \x81 x"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.exe", b"MZ", r"\.exe is not among"),
        ("a", b"", "no suffix"),
        ("a.pdf", b"not a pdf", "not a readable .pdf"),
        ("a.pdf", pdf("text", "", "locked"), "password"),
        ("a.docx", b"PK\x03\x04broken", "not a readable .docx"),
        ("a.docx", docx("", document=b"<w:p>"), "not a readable .docx"),
        ("a.docx", docx("", document=b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'), "declares entities"),
        ("a.docx", docx("", document=b" " * (MEMBER_BYTES + 1)), "over 100 MB"),
        ("a.txt", bytes(FILE_BYTES + 1), "over 50 MB"),
    ],
)
def test_what_cannot_be_read_has_a_reason(name: str, data: bytes, reason: str) -> None:
    """A file of another kind, broken, locked, too large or a bomb is refused with its reason."""
    with pytest.raises(UnreadableFile, match=reason):
        read_document(name, data)


def test_a_long_text_is_cut() -> None:
    """A text ends after two million characters, and a title, as of a heading that is never closed, after 300."""
    assert len(read_document("a.html", b"<h1>Tariffs" + b" and more" * 1000).title) == 300
    assert len(read_document("a.txt", b"x " * TEXT_CHARS).text) == TEXT_CHARS


@given(st.sampled_from(KINDS), st.binary(max_size=300))
def test_any_bytes_are_a_document_or_a_reason(name: str, data: bytes) -> None:
    """Any bytes under any name give text that can be written, or a reason, and nothing else."""
    try:
        document = read_document(name, data)
    except UnreadableFile:
        return
    f"{document.title}{document.text}".encode()
    assert document.title
