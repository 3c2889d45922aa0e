"""What a kernel says last about a cell, checked: a cell may have written it."""

from collections.abc import Iterable
from typing import cast

from sandbox.frames import Message


def is_answer(message: Message) -> bool:
    """Whether it has the shape it must have."""
    error = message.get("error")
    return (
        isinstance(message.get("ok"), bool)
        and isinstance(message.get("checkpoint"), str)
        and isinstance(message.get("execution_count"), int)
        and all(_is_texts(message.get(name)) for name in ("missed", "listed", "appended"))
        and (error is None or _is_error(error))
    )


def texts(paths: Iterable[str]) -> list[str]:
    """Paths as text: a name's bytes that are none are spelt out."""
    return sorted(path.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace") for path in paths)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))


def _is_error(value: object) -> bool:
    match value:
        case {"ename": str(), "evalue": str(), "errno": int() | None}:
            return _is_texts(cast("Message", value).get("traceback"))
        case _:
            return False
