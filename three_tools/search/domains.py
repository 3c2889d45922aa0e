"""Domains as callers write them, and hosts and folders as they are compared with them."""

import re
import unicodedata
from collections.abc import Iterable

from three_tools.errors import QueryRefused

_DOMAIN = re.compile(r"(?:https?://)?(?:\*?\.)?([^/:@?#*\\]*[^/:@?#*\\.\s])\.?/?", re.IGNORECASE)


def read_domains(given: Iterable[str]) -> tuple[str, ...]:
    """The names meant: https://acme.example/, *.acme.example and ACME.example. are acme.example.

    A path or a port is refused and not dropped: the search would be wider than asked for.
    """
    return tuple(dict.fromkeys(map(_read_domain, given)))


def as_compared(name: str) -> str:
    """A host or a folder in lower case, and a host of any script as the web spells it."""
    lower = unicodedata.normalize("NFC", name).lower().strip(".")
    if lower.isascii() or "." not in lower:
        return lower
    try:
        return lower.encode("idna").decode()
    except UnicodeError:
        return lower


def _read_domain(text: str) -> str:
    found = _DOMAIN.fullmatch(text.strip())
    if not found:
        raise QueryRefused(
            f"allow_domains: {text[:100]!r} is not a domain",
            "write a name as in eia.gov, without path or port; for your own documents also a folder at the top",
        )
    return as_compared(found[1])
