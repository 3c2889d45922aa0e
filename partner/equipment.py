"""What this machine's settings give a run to work with."""

import hashlib
from collections.abc import Callable

from partner import sandboxes
from partner.errors import UsageError
from partner.settings import Settings
from three_tools.run import Equipment
from three_tools.search.provider import SearchProvider

SEARCH_REMEDY = "set TAVILY_API_KEY, or search your own documents: PARTNER_SEARCH=folder"


def equipment(settings: Settings, say: Callable[[str], None] | None = None, command: str = "partner") -> Equipment:
    return Equipment(
        command=command,
        backend=lambda: sandboxes.jail(settings, say),
        search=lambda: search_provider(settings),
        limits=sandboxes.limits(settings),
        pass_threshold=settings.pass_threshold,
    )


def searches_the_web(settings: Settings) -> bool:
    return settings.search == "tavily" or (settings.search == "auto" and settings.tavily_api_key is not None)


def search_provider(settings: Settings) -> SearchProvider:
    """The provider that the settings pick; the key leaves them only here."""
    if searches_the_web(settings):
        from three_tools.search.tavily import TavilySearch

        if settings.tavily_api_key is None:
            raise UsageError("searching the web needs a key, and none is set", SEARCH_REMEDY)
        key = settings.tavily_api_key.get_secret_value()
        return TavilySearch(key, settings.tavily_api_url, settings.search_timeout_s)
    from three_tools.search.local_folder import LocalFolderSearch

    folder = settings.documents.expanduser().absolute()
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return LocalFolderSearch(folder, settings.home / "search" / f"{name}.sqlite")
