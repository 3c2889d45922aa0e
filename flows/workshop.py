"""Where runs live and what they are given to work with: decided by the doors, asked for by every flow."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from flows.errors import NoWorkshop
from flows.watch import SILENCE, Watch
from recipes.catalog import Catalog
from run_record import Home
from three_tools.run import Equipment

GROUP = "decision_partner.workshop"
"""The entry point by which a flow finds its workshop in a process that no door of ours started: a Prefect worker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """All that a flow needs beside its own parameters."""

    home: Home
    catalog: Catalog
    equip: Callable[[Path | None], Equipment]
    """What a run works with; given a folder of documents, its searches stay there."""
    author: str
    """Who asks, when it is not said."""
    watch: Watch = SILENCE


_current: ContextVar[Workshop | None] = ContextVar("workshop", default=None)


@contextmanager
def open_for_work(shop: Workshop) -> Generator[None]:
    """Flows called in here work in this workshop."""
    token = _current.set(shop)
    try:
        yield
    finally:
        _current.reset(token)


def workshop() -> Workshop:
    """The one that was opened here, else the installation's own."""
    if shop := _current.get():
        return shop
    for point in entry_points(group=GROUP):
        return point.load()()
    raise NoWorkshop("this process knows no home for runs", "install the application: make install")
