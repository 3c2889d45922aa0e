"""Which files an expectation speaks of."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """The paths that a pattern names, sorted; `*` and `?` stay within a folder, as in a shell."""
    return sorted(path for path in paths if path == pattern or _fits(path.split("/"), pattern.split("/")))


def _fits(path: list[str], pattern: list[str]) -> bool:
    return len(path) == len(pattern) and all(map(fnmatchcase, path, pattern))
