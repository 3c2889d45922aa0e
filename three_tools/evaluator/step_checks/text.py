"""Text as it lies in a file: how it is encoded, and whether there is any."""

import codecs

_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_MOST_BYTES = 32 << 20


class TooLarge(Exception):
    """A file that is too large to be read as a whole."""


def encoding_of(path: str) -> str:
    with open(path, "rb") as file:
        start = file.read(4)
    return next((name for mark, name in _BOMS.items() if start.startswith(mark)), "utf-8")


def read_text(path: str) -> str:
    """All of a file that is not too large."""
    with open(path, encoding=encoding_of(path)) as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise TooLarge(f"it is longer than {_MOST_BYTES >> 20} MB")
    return text


def has_words(path: str) -> bool:
    """Whether there is anything to see, which NUL and zero-width space are not; all of it is decoded."""
    with open(path, encoding=encoding_of(path)) as file:
        seen = False
        while piece := file.read(1 << 20):
            seen = seen or any(char.isprintable() and not char.isspace() for char in piece)
    return seen
