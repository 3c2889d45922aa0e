"""What a cell asked about without reading it: whether a file is there, and what it is.

What a cell read is observed from outside, and so is most of what it listed. A file that is not there makes no event,
and asking for a file's size makes none: those are seen by Python's audit events, by `os.stat` and `os.access` as Python
code calls them, and by the paths written in a cell's code.
"""

import ast
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

_NAME = r"[\w@%+=,~ -][\w@%+=,.~ -]*"
_A_PATH = re.compile(rf"(?:{_NAME}/)*{_NAME}(?:/|\.\w{{1,8}})")
_MOST = 200


class Looks:
    """The paths beneath the work directory that a cell looked for in vain, or looked at."""

    def __init__(self, work: str) -> None:
        self._work = work
        self._missed: set[str] = set()
        self._listed: set[str] = set()
        self._asked: set[str] = set()
        """There, and asked about: what the cell does may depend on that."""
        self._appended: set[str] = set()
        """What is added to depends on what was there, though it is not read."""
        self._is_on = False
        sys.addaudithook(self._hear)
        for name in ("stat", "access"):
            self._listen_to(name)

    def begin(self, tree: ast.AST | None) -> None:
        self._missed.clear()
        self._listed.clear()
        self._asked.clear()
        self._appended.clear()
        for text in _paths_in(tree) if tree else ():
            self._note(text)
        self._is_on = True

    def end(self) -> dict[str, list[str]]:
        self._is_on = False
        return {
            "missed": sorted(self._missed),
            "listed": sorted(self._listed),
            "appended": sorted(self._appended),
            "asked": sorted(self._asked),
            "asked_all": max(len(self._missed), len(self._listed), len(self._asked)) < _MOST,
        }

    def _listen_to(self, name: str) -> None:
        """Hear of calls that make no audit event; what they answer stays as it is."""
        original: Callable[..., Any] = getattr(os, name)  # Any: as the system's own

        @wraps(original)
        def ask(path: Any, *arguments: Any, **options: Any) -> Any:
            if self._is_on and isinstance(path, str | os.PathLike) and options.get("dir_fd") is None:
                self._is_on = False  # our own look makes such calls too
                try:
                    self._note(os.fsdecode(path))
                finally:
                    self._is_on = True
            return original(path, *arguments, **options)

        setattr(os, name, ask)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if original in able:
                able.add(ask)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._is_on:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str) and isinstance(flags, int):
                if not flags & os.O_CREAT:
                    self._note(path)
                elif flags & os.O_APPEND and (inside := self._inside(path)):
                    self._appended.add(inside)
        elif event in ("os.listdir", "os.scandir"):
            path = arguments[0] if arguments[0] is not None else "."
            if isinstance(path, str) and len(self._listed) < _MOST and (inside := self._inside(path)):
                self._listed.add(inside)
        elif event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6):
            raise PermissionError("cells have no network: bring data in as files")

    def _note(self, path: str) -> None:
        try:
            inside = self._inside(path)
        except ValueError:  # no path at all; whoever asked will hear it
            return
        if inside is None or inside == ".":
            return
        found = self._asked if os.path.lexists(path) else self._missed
        if len(found) < _MOST:
            found.add(inside)

    def _inside(self, path: str) -> str | None:
        """The path as seen from the work directory, if it is beneath it."""
        relative = os.path.relpath(path, self._work)  # from wherever the cell is
        return None if relative == ".." or relative.startswith("../") else relative


def _paths_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if len(text) < 256 and _A_PATH.fullmatch(text):
                yield text
            case _:
                continue
