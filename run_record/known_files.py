"""Which content each file had when it was last read, so that only what changed is read again."""

import json
import time
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from run_record.ids import Sha256
from run_record.scan import Signature

# Kernels stamp files by a clock that ticks every 1–10 ms; coarse file systems by the second.
_FINE_TICK_NS = 20_000_000
_COARSE_TICK_NS = 2_000_000_000
# Work, in bytes that could be hashed meanwhile.
_OPENING_A_FILE = 30_000
_SAVING_AN_ENTRY = 1_000
_FORMAT = 1


class KnownFiles:
    """Remembers content by file signature, and forgets what it cannot be sure of.

    A file changed within the clock's tick of being read could change once more under the same
    signature, so it is not remembered. Nor is one from the future: then the clock went back.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Signature, Sha256]] = {}
        self._unsaved_work = 0

    def content(self, path: str, signature: Signature) -> Sha256 | None:
        """The content of a file that has not changed since it was learnt."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == signature else None

    def learn(self, path: str, signature: Signature, sha256: Sha256, *, read_from_ns: int | None = None) -> None:
        """Remember what a file held; `read_from_ns` is the wall clock when reading began."""
        now_ns = time.time_ns() if read_from_ns is None else read_from_ns
        tick_ns = _COARSE_TICK_NS if signature.ctime_ns % 1_000_000_000 == 0 else _FINE_TICK_NS
        if max(signature.ctime_ns, signature.mtime_ns) + tick_ns < now_ns:
            self._known[path] = (signature, sha256)
            self._unsaved_work += _OPENING_A_FILE + signature.size

    def forget_all_but(self, paths: Container[str]) -> None:
        """Drop what is known of files that are gone."""
        for path in list(self._known):  # a copy: other threads may be learning
            if path not in paths:
                self._known.pop(path, None)

    def save(self, path: Path) -> None:
        """Keep what is known for the next process, once reading those files again would cost more than saving.

        A cache: losing it costs time, never truth.
        """
        if self._unsaved_work <= _SAVING_AN_ENTRY * len(self._known):
            return
        files = {name: [*signature, sha256] for name, (signature, sha256) in dict(self._known).items()}
        temporary = path.with_name(f".{path.name}.new")
        with suppress(OSError):
            temporary.write_text(json.dumps({"format": _FORMAT, "files": files}))
            temporary.rename(path)
            self._unsaved_work = 0

    @classmethod
    def load(cls, path: Path) -> "KnownFiles":
        """What an earlier process knew; nothing, if that cannot be read."""
        known = cls()
        try:
            stored = json.loads(path.read_bytes())
            if stored["format"] == _FORMAT:
                for name, (*signature, sha256) in stored["files"].items():
                    known._known[name] = (Signature(*signature), Sha256(sha256))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls()
        return known
