"""What a cell asked about without reading it: whether a file is there, and what it is.

What a cell read is observed from outside, and so is most of what it listed. A file that is not there makes no event,
and asking for a file's size makes none: those are seen by Python's audit events, by `os.stat` and `os.access` as Python
code calls them, and by the paths written in a cell's code.
"""

import ast
import fcntl
import os
import posix
import re
import resource
import socket
import sys
import threading
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

_NAME = r"[\w@%+=,~ -][\w@%+=,.~ -]*"
_A_PATH = re.compile(rf"(?:{_NAME}/)*{_NAME}(?:/|\.\w{{1,8}})")
_OUR_OWN = re.compile(r"/proc/[^/]+/(?:task/\d+/)?(?:cwd|fd|root)\b")
_MOST = 200
_ELSEWHERE = frozenset({
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "subprocess.Popen",
})  # fmt: skip
"""Whatever these start is not heard."""
_PATHS = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    **dict.fromkeys(("os.truncate", "os.chdir", "os.listdir", "os.scandir"), ((0, None),)),
    **dict.fromkeys(("os.getxattr", "os.listxattr", "os.setxattr", "os.removexattr"), ((0, None),)),
}
"""Where calls that fail without it have a path, and the open folder that the path may begin at."""
_CHANGES = frozenset({"os.remove", "os.rmdir", "os.rename", "os.link"})
"""What these do to a file that is there is seen from outside."""
_MAKES = frozenset({("os.mkdir", 0), ("os.rename", 1), ("os.link", 1)})
"""Which of their paths are there afterwards."""


class Looks:
    """The paths beneath the work directory that a cell looked for in vain, or looked at.

    What happens where none of this is heard, in another program or process, makes it blind, and it says so.
    """

    def __init__(self, work: str) -> None:
        self._work = work
        self._scratch = os.path.realpath(os.environ.get("TMPDIR", work))
        self._missed: set[str] = set()
        self._listed: set[str] = set()
        self._asked: set[str] = set()
        """There, and asked about: what the cell does may depend on that."""
        self._appended: set[str] = set()
        """What is added to depends on what was there, though it is not read."""
        self._made: set[str] = set()
        """What the cell made itself: asking about that afterwards tells nothing of what was there before."""
        self._made_in_scratch: set[str] = set()
        self._is_on = False
        self._is_blind = False
        self._own = threading.local()
        """Whether this thread is looking itself, which makes such calls too."""
        sys.addaudithook(self._hear)
        for name in ("stat", "lstat", "access", "readlink", "statvfs", "pathconf", "open"):
            self._listen_to(name)

    def begin(self, tree: ast.AST | None) -> None:
        for paths in (self._missed, self._listed, self._asked, self._appended, self._made, self._made_in_scratch):
            paths.clear()
        self._is_blind = False
        for text in _paths_in(tree) if tree else ():
            self._note(text)
        self._is_on = True

    def end(self) -> dict[str, list[str] | bool]:
        self._is_on = False
        are_few = max(len(self._missed), len(self._listed), len(self._asked)) < _MOST
        return {
            "missed": sorted(self._missed),
            "listed": sorted(self._listed),
            "appended": sorted(self._appended),
            "asked": sorted(self._asked),
            "asked_all": are_few and not self._is_blind and not self._is_writing(),
        }

    def _is_writing(self) -> bool:
        """Whether a file stays open that later cells write on, from where this one stopped."""
        for descriptor in range(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
            try:
                flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
            except OSError:
                continue
            is_at_its_place = flags & os.O_ACCMODE == os.O_WRONLY and not flags & os.O_APPEND
            if is_at_its_place and (name := self._name_of(descriptor)).startswith("/") and self._inside(name):
                return True
        return False

    def _listen_to(self, name: str) -> None:
        """Hear of calls that make no audit event; what they answer stays as it is."""
        original: Callable[..., Any] = getattr(os, name)  # Any: as the system's own

        @wraps(original)
        def ask(path: Any, *arguments: Any, **options: Any) -> Any:
            folder = options.get("dir_fd")
            is_heard = name == "open" and folder is None  # as an event
            if self._is_on and not self._is_looking and not is_heard and isinstance(path, str | bytes | os.PathLike):
                self._note(os.path.join(self._name_of(folder), os.fsdecode(cast("str", path))))
            return original(path, *arguments, **options)

        setattr(os, name, ask)
        setattr(posix, name, ask)
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if original in able:
                able.add(ask)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._is_on:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes) and isinstance(flags, int):
                self._hear_open(os.fsdecode(path), flags)
        elif event in _PATHS:
            self._hear_call(event, arguments)
        elif event == "sqlite3.connect":
            self._note(str(arguments[0]).removeprefix("file:").partition("?")[0], is_made=True)
        elif event in _ELSEWHERE:
            self._is_blind = True
        elif event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6):
            raise PermissionError("cells have no network: bring data in as files")

    def _hear_call(self, event: str, arguments: tuple[Any, ...]) -> None:  # Any: as each event has them
        if event in ("os.listdir", "os.scandir"):
            path = self._name_of(arguments[0]) if isinstance(arguments[0], int) else os.fsdecode(arguments[0] or ".")
            if len(self._listed) < _MOST and (inside := self._inside(path)):
                self._listed.add(inside)
        for place, begin in _PATHS[event]:
            path, folder = arguments[place], None if begin is None else arguments[begin]
            if isinstance(path, str | bytes):
                base = "" if folder is None or folder < 0 else self._name_of(folder)
                path = os.path.join(base, os.fsdecode(path))
                self._note(path, is_made=(event, place) in _MAKES, is_changed=event in _CHANGES)

    def _hear_open(self, path: str, flags: int) -> None:
        if not flags & os.O_CREAT or flags & os.O_EXCL:
            self._note(path, is_made=bool(flags & os.O_CREAT))
        elif inside := self._inside(path):
            self._note(os.path.dirname(os.path.abspath(path)))
            if not self._is_there(path):
                self._made.add(inside)
            if flags & os.O_APPEND:
                self._appended.add(inside)
        else:
            self._note_in_scratch(path, is_made=True, is_emptied=bool(flags & os.O_TRUNC))

    def _note(self, path: str, *, is_made: bool = False, is_changed: bool = False) -> None:
        try:
            inside, is_there = self._inside(path), self._is_there(path)
        except ValueError:
            return  # no path at all; whoever asked will hear it
        if inside is not None and inside != ".":
            found = self._asked if is_there else self._missed
            is_news = not (is_there and is_changed) and not _is_in(self._made, inside)
            if is_news and len(found) < _MOST:
                found.add(inside)
            if is_made and not is_there:
                self._made.add(inside)
        elif inside is None:
            if _OUR_OWN.match(path):  # perhaps the work directory by another name
                self._is_blind = True
            self._note_in_scratch(path, is_made=is_made)

    def _note_in_scratch(self, path: str, *, is_made: bool, is_emptied: bool = False) -> None:
        """What an earlier cell left there is in no record, and in no other run."""
        inside = self._beneath(self._scratch, path)
        if inside in (None, ".") or _is_in(self._made_in_scratch, inside):
            return
        if self._is_there(path) and not is_emptied:
            self._is_blind = True
        elif is_made:
            self._made_in_scratch.add(inside)

    def _is_there(self, path: str) -> bool:
        with self._looking():
            return os.path.lexists(path)

    def _name_of(self, folder: int | None) -> str:
        """The path of an open folder."""
        if folder is None:
            return ""
        with self._looking():
            try:
                return os.readlink(f"/proc/self/fd/{folder}")
            except OSError:
                self._is_blind = True
                return ""

    @property
    def _is_looking(self) -> bool:
        return getattr(self._own, "is_looking", False)

    @contextmanager
    def _looking(self) -> Generator[None]:
        self._own.is_looking = True
        try:
            yield
        finally:
            self._own.is_looking = False

    def _inside(self, path: str) -> str | None:
        """The path as seen from the work directory, if it is beneath it."""
        return self._beneath(self._work, path)

    @staticmethod
    def _beneath(top: str, path: str) -> str | None:
        relative = os.path.relpath(path, top)  # from wherever the cell is
        return None if relative == ".." or relative.startswith("../") else relative


def _is_in(made: Container[str], path: str) -> bool:
    return any(each in made for each in (path, *_folders_above(path)))


def _folders_above(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path


def _paths_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if len(text) < 256 and _A_PATH.fullmatch(text):
                yield text
            case _:
                continue
