"""PDF by its skeleton: header, end, cross references where they should be, and at least one page."""

import mmap
import re
import zlib
from typing import Any

from .found import count

_NEAR = 2048
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_STREAM = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
_MOST_INFLATED = 16 << 20
_MOST_STREAMS = 200
_DATA = re.compile(rb"(?<!end)stream\r?\n")
_HEAD = 1000
_PIECE = 1 << 16
_MOST_UNPACKED = 256 << 20


def check(file: Any) -> list[dict[str, Any]]:
    with open(file.object, "rb") as data, mmap.mmap(data.fileno(), 0, access=mmap.ACCESS_READ) as content:
        problem = _broken(content) or _damaged(content)
        pages = 0 if problem else _pages(content)
    if problem:
        return [file.found("opens", 0, problem, required=True)]
    if not pages:
        return [file.found("opens", 0, "it has no page", required=True)]
    return [file.found("opens", 1, count(pages, "page"))]


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


def _damaged(content: mmap.mmap) -> str:
    """Damage in the middle shows in what is compressed there, which has a checksum; as much as there is time for."""
    room, place = 0 if content.find(b"/Encrypt") >= 0 else _MOST_UNPACKED, 0
    while room > 0 and (start := _DATA.search(content, place)):
        place = start.end()
        head = content[max(0, start.start() - _HEAD) : start.start()]
        if b"/FlateDecode" not in (own := head[head.rfind(b" obj") :]) or b"/ASCII" in own or b"/Crypt" in own:
            continue
        length, unpacked = _unpack(content, place, room)
        if not length:
            return f"what begins at byte {place} of it cannot be unpacked"
        room, place = room - unpacked, place + length
    return ""


def _unpack(content: mmap.mmap, start: int, room: int) -> tuple[int, int]:
    """How long a compressed stream is, packed and unpacked; 0 when it is damaged or cut off."""
    stream, unpacked, fed, pending = zlib.decompressobj(), 0, start, b""
    try:
        while not stream.eof and unpacked < room:
            if not pending:
                pending = content[fed : fed + _PIECE]
                fed += len(pending)
            if not pending:
                return 0, 0
            unpacked += len(stream.decompress(pending, _PIECE))
            pending = stream.unconsumed_tail
    except zlib.error:
        return 0, 0
    return fed - start - len(pending) - len(stream.unused_data), unpacked


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
