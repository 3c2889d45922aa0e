"""The words of a text, as they are looked for and compared."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

TOKENIZER = "porter unicode61 remove_diacritics 2"
_CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
WORD_START = rf"(?<![^\W{_CJK}])"
"""Also a place within Chinese and its like, or after it."""
_NUMBER = r"[0-9]{1,3}(?:[.,][0-9]{1,3})+(?!\w)"
_WORD = re.compile(rf"{_NUMBER}|[{_CJK}]+|[^\W{_CJK}]+")
_ASCII_WORD = re.compile(rf"{_NUMBER}|\w+")
_RUN = re.compile(r"\w+")
_HAS_CJK = re.compile(f"[{_CJK}]")
_ACCENTED = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))


def words_of(text: str) -> Iterator[str]:
    """Words, numbers with their separators, and Chinese, Japanese and Korean, which part no words, in pairs."""
    if text.isascii():  # several times as fast
        yield from _ASCII_WORD.findall(text)
        return
    for word in _WORD.findall(text):
        if len(word) > 2 and _HAS_CJK.match(word):
            yield from map("".join, pairwise(word))
        else:
            yield word


def unparted(text: str) -> str:
    """The words of what stands in Chinese, Japanese or Korean: the index takes it as one word up to the next space."""
    if text.isascii() or not _HAS_CJK.search(text):
        return ""
    return " ".join(word for run in _RUN.findall(text) if _HAS_CJK.search(run) for word in words_of(run))


def plain(text: str) -> str:
    """The text without accents on Latin letters, each character in its place."""
    return text if text.isascii() else text.translate(_plain_letters())


@cache
def _plain_letters() -> dict[int, str]:
    return {code: unicodedata.normalize("NFD", chr(code))[0] for code in _ACCENTED}
