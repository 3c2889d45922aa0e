"""The workshop of this installation: what its settings give flows to work with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flows.watch import SILENCE, Watch
from flows.workshop import Workshop
from partner.equipment import equipment, search_provider
from partner.settings import Settings, load_settings
from recipes.catalog import Catalog
from run_record import Home
from sandbox import Backend
from three_tools.run import Equipment
from three_tools.search.provider import SearchProvider


def open_workshop() -> Workshop:
    """For a process that no command of ours started: a Prefect worker's. The environment and partner.toml say where."""
    return make_workshop(load_settings({}))


def make_workshop(
    settings: Settings, say: Callable[[str], None] | None = None, command: str = "partner", watch: Watch = SILENCE
) -> Workshop:
    usual = equipment(settings, say, command)
    backend = _once(usual.backend)

    def equip(documents: Path | None) -> Equipment:
        if documents is None:
            return replace(usual, backend=backend)
        return replace(usual, backend=backend, search=lambda: _folder(settings, documents))

    return Workshop(
        home=Home(settings.home),
        catalog=Catalog(settings.recipes),
        equip=equip,
        author=settings.author,
        watch=watch,
    )


def _once(make: Callable[[], Backend]) -> Callable[[], Backend]:
    made: list[Backend] = []

    def backend() -> Backend:
        if not made:
            made.append(make())
        return made[0]

    return backend


def _folder(settings: Settings, documents: Path) -> SearchProvider:
    return search_provider(settings.model_copy(update={"search": "folder", "documents": documents}))
