"""Which code can reach any variable, whatever its name: one that looks at all of them, or at the kernel itself."""

import ast
from collections.abc import Collection, Iterable

from recipes.imports import IMPORTERS, Imported, imports_in

NAMES = frozenset({
    "__builtins__", "__main__", "dir", "eval", "exec", "get_ipython", "globals", "locals", "vars",
})  # fmt: skip
"""Names of which each alone gives all variables."""

_ATTRIBUTES = frozenset({
    "InteractiveShell", "__builtins__", "__globals__", "__main__", "__self__", "__subclasses__", "_current_frames",
    "_getframe", "currentframe", "f_back", "f_builtins", "f_globals", "f_locals", "get_ipython", "get_objects",
    "get_referents", "get_referrers", "getclosurevars", "getmodule", "modules", "user_global_ns", "user_module",
    "user_ns",
})  # fmt: skip
_WAYS_THERE = frozenset({
    "__main__", "bdb", "builtins", "cProfile", "code", "ctypes", "doctest", "gc", "pdb", "profile", "trace", "unittest",
})  # fmt: skip
"""Modules that give the variables, or run code among them."""

_UNPICKLERS = frozenset({"_pickle", "cloudpickle", "dill", "joblib", "pickle", "shelve"})
"""What they restore may be of a class of any cell."""


def reaches_all(tree: ast.AST) -> bool:
    """Whether the code can read or bind any name, beside the plain names that `Scope` knows."""
    imports = imports_in(tree)
    if any(each.package in _WAYS_THERE or each.origin.rpartition(".")[2] in _ATTRIBUTES for each in imports):
        return True
    compared = {id(part) for node in ast.walk(tree) if _asks_who_runs(node) for part in ast.walk(node)}
    return any(_is_way(node) for node in ast.walk(tree) if id(node) not in compared)


def restores_objects(tree: ast.AST, imported: Collection[Imported]) -> bool:
    """Whether the code makes objects of what a file says, whose classes and functions it finds by their names."""
    return _is_named(tree, {each.name for each in imported if each.package in _UNPICKLERS}) or any(
        isinstance(node, ast.Attribute) and node.attr in ("read_pickle", "Unpickler") for node in ast.walk(tree)
    )


def _is_named(tree: ast.AST, names: Iterable[str]) -> bool:
    wanted = frozenset(names)
    return any(isinstance(node, ast.Name) and node.id in wanted for node in ast.walk(tree))


def _asks_who_runs(node: ast.AST) -> bool:
    """`if __name__ == "__main__"`: that is no way to anything."""
    return isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == "__name__"


def _is_way(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in _ATTRIBUTES
        case ast.Constant(value=str(text)):
            return text in _ATTRIBUTES - {"modules"} or "__main__" in text
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[first, *_]):
            return called in IMPORTERS - {"reload"} and not isinstance(first, ast.Constant)
        case _:
            return False
