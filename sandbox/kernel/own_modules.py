"""Finding the run's own modules in its work directory, last of all, by asking for each by its name.

Python's own finder lists the folder, also for a library that is nowhere: then every new file would be one that the cell
depended on, though pandas only asked for something that it can do without.
"""

import os
import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import ModuleType

_SUFFIXES = ("", *EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)


class _Finder(FileFinder):
    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        path = os.path.join(self.path, fullname.rpartition(".")[2])
        is_there = any(os.path.exists(f"{path}{suffix}") for suffix in _SUFFIXES)
        return super().find_spec(fullname, target) if is_there else None


def find_own_modules(work: str) -> None:
    make = _Finder.path_hook(
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (SourceFileLoader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )

    def hook(path: str) -> object:
        if path != work and not path.startswith(f"{work}/"):
            raise ImportError("not in the work directory", path=path)
        return make(path)

    sys.path_hooks.insert(0, hook)  # pyright: ignore[reportArgumentType]  (typeshed asks for a legacy protocol)
    sys.path_importer_cache.pop(work, None)
    sys.path[:] = [*(entry for entry in sys.path if entry), ""]
