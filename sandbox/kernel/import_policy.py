"""Says before a cell runs that a library is not there. Hygiene, not a boundary: the walls are the boundary."""

import ast
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from inspect import ismodule

LIBRARIES = (
    "jinja2", "matplotlib", "numpy", "openpyxl", "pandas", "polars", "pyarrow", "python-pptx", "scipy", "statsmodels",
    "weasyprint",
)  # fmt: skip
"""What cells are meant to use; what these need is there too."""

UNSUITED = frozenset({"ensurepip", "idlelib", "pip", "pyseccomp", "sandbox", "setuptools", "tkinter", "turtle", "venv"})
"""There, but of no use in a cell."""


class ImportNotAllowed(ImportError):
    """A library that cells do not have."""


class LibraryLost(RuntimeError):
    """A library whose threads did not survive the restoring of a session: using it would wait for ever."""


def check_lost(tree: ast.AST | None, lost: frozenset[str], variables: Mapping[str, object]) -> None:
    """Refuse a cell that uses such a library, or anything it made."""
    if tree is None or not lost:
        return
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    values = [variables[name] for name in used if name in variables]
    origins = {getattr(value, "__name__", "") if ismodule(value) else type(value).__module__ for value in values}
    for name in sorted({origin.partition(".")[0] for origin in (*origins, *_imported(tree))} & lost):
        raise LibraryLost(
            f"{name}'s threads were lost when the session was restored  → reset the session, then run its cells again"
        )


def check_imports(tree: ast.AST | None, disallowed: frozenset[str]) -> None:
    """Refuse a cell that imports what cells cannot; an import inside `try` is the cell's own affair."""
    for name in dict.fromkeys(_imported(tree)) if tree else ():
        if name in disallowed or name in UNSUITED:
            raise ImportNotAllowed(f"{name} is not for cells  → {_offer()}")
        if name not in sys.modules and _is_missing(name):
            raise ImportNotAllowed(f"the sandbox has no library {name}  → {_offer()}")


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Try() | ast.TryStar():
            return
        case ast.Import():
            yield from (alias.name.partition(".")[0] for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _imported(child)


def _is_missing(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return True


def _offer() -> str:
    return f"cells have the standard library and {', '.join(LIBRARIES)}"
