"""What counts as the source of a claim: a cited address, or a file of the run."""
# JSON of anybody's is typed by looking at it; the sandbox's environment alone has the libraries.
# pyright: basic, reportMissingImports=false

import posixpath
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from .json_files import parse
from .text import read_text

URL = re.compile(r"https?://(?:[^\s<>\"'`()\[\]{}“”„»«]|\([^\s()<>]*\))+", re.IGNORECASE)
"""Parentheses belong to it in pairs, as Wikipedia has them."""
_PORTS = {"http": 80, "https": 443}


class Sources:
    """Knows what the run has cited and which files it has."""

    def __init__(self, citations: list[str], paths: list[str], *, must_be_cited: bool) -> None:
        self._paths = frozenset(paths)
        self._must_be_cited = must_be_cited
        self._cited: set[str] = set()
        for citation in citations:
            self._cite(citation)
        self._addresses = {address for text in self._cited if (address := canonical(text))}

    def _cite(self, citation: str) -> None:
        """A citations file that cannot be read cites nothing."""
        try:
            content = parse(read_text(citation))
        except (ValueError, RecursionError, OSError):
            return
        results = content.get("results") if isinstance(content, dict) else None
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and isinstance(url := result.get("url"), str):
                self._cited.add(url.strip())

    def support(self, text: str, claiming: str) -> bool:
        """Whether a text names a source; a file that makes claims is no source of its own."""
        text = text.strip()
        if not text:
            return False
        if text in self._cited or self._is_file(text, claiming):
            return True
        return any(self._is_address(url.rstrip(".,;:!?*")) for url in URL.findall(text))

    def _is_address(self, url: str) -> bool:
        address = canonical(url)
        return bool(address) and (not self._must_be_cited or address in self._addresses)

    def _is_file(self, text: str, claiming: str) -> bool:
        path = text if text in self._paths else text.partition("#")[0]
        path = path.removeprefix("./").removeprefix("tmp/")
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(claiming), unquote(path)))  # as a link is read
        return any(name in self._paths and name != claiming for name in (path, beside))


def canonical(url: str) -> str:
    """An address without what does not make it another: scheme, default port, fragment, final slash. Or nothing."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if (
        parts.scheme.lower() not in _PORTS
        or not host
        or not ("." in host.strip(".") or ":" in host or host == "localhost")
    ):
        return ""
    place = host if port in (None, *_PORTS.values()) else f"{host}:{port}"
    return f"{place}{parts.path.rstrip('/')}" + (f"?{parts.query}" if parts.query else "")


def strings_in(value: Any, depth: int = 3) -> list[str]:
    """The sources that a field holds: text, a list of them, or an object with an address or a path."""
    if isinstance(value, str):
        return [value]
    if depth and isinstance(value, list):
        return [text for each in value for text in strings_in(each, depth - 1)]
    if depth and isinstance(value, dict):
        return [text for name in ("url", "link", "path", "dataset") for text in strings_in(value.get(name), depth - 1)]
    return []
