"""PDF by its skeleton: header, end, cross references where they should be, and at least one page."""

import mmap
import re
import zlib
from typing import Any

_NEAR = 2048
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_STREAM = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
_MOST_INFLATED = 16 << 20
_MOST_STREAMS = 200


def check(file: Any) -> list[dict[str, Any]]:
    with open(file.object, "rb") as data, mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ) as content:
        problem = _broken(content)
        pages = 0 if problem else _pages(content)
    if problem:
        return [file.found("opens", 0, problem, required=True)]
    if not pages:
        return [file.found("opens", 0, "it has no page", required=True)]
    return [file.found("opens", 1, f"{pages} pages" if pages > 1 else "1 page")]


def _broken(content: mmap.mmap) -> str:
    if b"%PDF-" not in content[:1024]:
        return "it does not begin as a PDF"
    end = content[-_NEAR:]
    if b"%%EOF" not in end:
        return "its end is missing (no %%EOF)"
    starts = re.findall(rb"startxref\s+(\d{1,12})\s", end)
    place = int(starts[-1]) if starts else -1
    if not 0 < place < len(content) or not re.match(rb"\s*(?:xref\b|\d+\s+\d+\s+obj\b)", content[place : place + 64]):
        return "its cross references are not where it says"
    return ""


def _pages(content: mmap.mmap) -> int:
    """Page objects that lie open, or else in compressed object streams."""
    count = sum(1 for _ in _PAGE.finditer(content))
    if count:
        return count
    for number, start in enumerate(_STREAM.finditer(content)):
        if number >= _MOST_STREAMS:
            break
        try:
            inflated = zlib.decompressobj().decompress(
                content[start.end() : start.end() + _MOST_INFLATED], _MOST_INFLATED
            )
        except zlib.error:
            continue
        count += len(_PAGE.findall(inflated))
    return count
