"""Who sessions may become."""

import itertools
import os
import secrets
import threading
from collections.abc import Iterator


class Users:
    """The users of sessions, each one session's at a time; none when we are not root."""

    def __init__(self, uids: range) -> None:
        self._uids = uids
        self._taken: set[int | None] = set()
        self._lock = threading.Lock()

    def take(self, work: str) -> int | None:
        """The user a work directory belongs to already, or one that no other session has."""
        if not self._uids:
            return None
        owner = os.stat(work).st_uid
        with self._lock:
            candidates = itertools.chain([owner] if owner in self._uids else [], _shuffled(self._uids))
            uid = next(uid for uid in candidates if uid not in self._taken)
            self._taken.add(uid)
        return uid

    def give_back(self, uid: int | None) -> None:
        with self._lock:
            self._taken.discard(uid)


def _shuffled(uids: range) -> Iterator[int]:
    while True:
        yield uids[secrets.randbelow(len(uids))]
