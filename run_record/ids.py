"""The two names everything hangs on: a run's id and a content's sha256."""

import re
import secrets
from typing import NewType

RunId = NewType("RunId", str)
Sha256 = NewType("Sha256", str)

# No i, l, o, u: nobody misreads an id or finds a word in it.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_RUN_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}")


def mint_run_id() -> RunId:
    """Eighty random bits: a run's id cannot be guessed."""
    letters = [secrets.choice(_ALPHABET) for _ in range(16)]
    return RunId("-".join("".join(letters[i : i + 4]) for i in range(0, 16, 4)))


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None
