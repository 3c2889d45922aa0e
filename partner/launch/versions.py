"""Which versions of the libraries under Prefect's server it cannot work with."""

import re
from collections.abc import Mapping
from importlib.metadata import version

BROKEN_FROM = {
    "fastapi": ((0, 151), "its server does not start"),
    "sqlalchemy": ((2, 1), "its schedules stop silently"),
}
"""prefect 3.8.8; to be looked at again with the next."""


def unfit(installed: Mapping[str, str] | None = None) -> list[str]:
    """What is installed and does not work together, each with what comes of it."""
    found = {name: version(name) for name in BROKEN_FROM} if installed is None else installed
    return [
        f"with {name} {found[name]} {effect}"
        for name, (first, effect) in BROKEN_FROM.items()
        if _release(found[name]) >= first
    ]


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
