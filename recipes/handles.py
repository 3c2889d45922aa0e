"""Names by which cells hold a module, or something that a module keeps: imported, or a second name for that."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from recipes.imports import IMPORTERS, imports_in

SHARED = frozenset({"getLogger", "getcontext", *IMPORTERS})
"""Calls that give what the module keeps, not a new thing."""

STATES = frozenset({"environ", "options", "rcParams", "rcParamsDefault"})
"""What a module keeps for everybody: whoever is handed it may change it."""


@dataclass(frozen=True, slots=True)
class Handle:
    """What a name stands for, as one would import it, and whether that is surely a module."""

    origin: str
    is_module: bool = False


@dataclass(frozen=True, slots=True)
class Handles:
    """All such names of several cells: what one imports, another uses."""

    names: Mapping[str, Handle]

    def origin(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Where a path leads: (pd, options) to (pandas, options); nothing when it begins with another name."""
        held = self.names.get(path[0]) if path else None
        return (*held.origin.split("."), *path[1:]) if held else ()

    def depth(self, path: tuple[str, ...]) -> int:
        """How far from a module a path leads: 0 is the module itself, 1 what it holds."""
        return len(path) - self.is_module(path[0])

    def is_module(self, name: str) -> bool:
        return name in self.names and self.names[name].is_module


_ANY = Handle("", is_module=True)


def handles_in(trees: Iterable[ast.AST]) -> Handles:
    """All of them in these cells together."""
    several = list(trees)
    names: dict[str, Handle] = {}
    imports = {each for tree in several for each in imports_in(tree) if each.name}
    for imported in sorted(imports, key=lambda each: (each.package != "recipes", each.origin, each.is_module)):
        names[imported.name] = Handle(imported.origin, imported.is_module and names.get(imported.name, _ANY).is_module)
    aliases = [alias for tree in several for alias in _aliases(tree)]
    returned = [pair for tree in several for pair in _returned(tree)]
    givers, more = set[str](), True
    while more:
        found = {name: value for name, value in aliases if name not in names and _is_held(value, names, givers)}
        given = {n: value for n, value in returned if n not in givers and _is_held(value, names, givers)}
        givers |= given.keys()
        found |= {name: value for name, value in given.items() if name not in names}
        names |= {name: Handle(".".join(Handles(names).origin(path_of(value)))) for name, value in found.items()}
        more = bool(found or given)
    return Handles(names)


def _aliases(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that are bound to a value as it is."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from _pairs(target, value)
            case ast.For(target=target, iter=ast.Tuple(elts=values) | ast.List(elts=values)):
                yield from (pair for value in values for pair in _pairs(target, value))
            case _:
                pass


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=names) | ast.List(elts=names), ast.Tuple(elts=values) | ast.List(elts=values):
            for name, one in zip(names, values, strict=False):
                yield from _pairs(name, one)
        case ast.Name(id=name), ast.IfExp(body=body, orelse=orelse):
            yield name, body
            yield name, orelse
        case _, ast.List(elts=values) | ast.Tuple(elts=values) | ast.Dict(values=values):
            kept = [one for one in values if isinstance(one, ast.Attribute) and one.attr in STATES]
            yield from (pair for one in kept for pair in _pairs(target, one))
        case ((ast.Name() | ast.Attribute() | ast.Subscript()), _):
            path = path_of(target)
            if path and (isinstance(target, ast.Name) or (isinstance(value, ast.Attribute) and value.attr in STATES)):
                yield path[0], value
        case _:
            pass


def _returned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Functions, with what they may give; classes, with what they keep for everybody."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in ast.walk(node):
                if isinstance(part, ast.Return) and part.value:
                    yield node.name, part.value
        elif isinstance(node, ast.ClassDef):
            kept = [part.value for part in ast.walk(node) if isinstance(part, ast.Assign)]
            yield from ((node.name, one) for one in kept if isinstance(one, ast.Attribute) and one.attr in STATES)


def _is_held(value: ast.expr, names: Mapping[str, Handle], givers: Collection[str]) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in givers:
            return True
        case ast.Call(func=function):
            path = path_of(function)
            return path[:1] == ("__import__",) or (bool(path) and path[0] in names and path[-1] in SHARED)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            path = path_of(value)
            return not _has_call(value) and bool(path) and path[0] in names
        case _:
            return False


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def path_of(node: ast.AST) -> tuple[str, ...]:
    """plt.rcParams["a"].b is (plt, rcParams, b); empty when it does not begin with a name."""
    path = tuple(reversed(list(_parts(node))))
    return path if path[0] else ()


def _parts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr=name):
            yield name
            yield from _parts(value)
        case ast.Subscript(value=value) | ast.Call(func=value):
            yield from _parts(value)
        case _:
            yield ""
