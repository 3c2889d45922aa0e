"""Which code visibly changes what imported modules do from then on.

A cell that does so is needed by every later one: what a module's state touches cannot be seen from outside (a plot by
pandas obeys matplotlib's settings, a sample obeys numpy's random state), so nobody is taken to be unaffected.
"""

import ast
from collections.abc import Collection, Iterator

_CHANGING = frozenset({
    "basicConfig", "chdir", "clear_cache", "disable", "enable", "filterwarnings", "ioff", "ion", "putenv", "rc",
    "rcdefaults", "reload", "reset_option", "reset_orig", "resetwarnings", "seed", "setattr", "setlocale",
    "setrecursionlimit", "simplefilter", "switch_backend", "tzset", "umask", "unsetenv", "use",
})  # fmt: skip
"""Calls by their last name: plt.rc, np.random.seed, warnings.filterwarnings, os.chdir, matplotlib.use."""

_CHANGING_PREFIXES = ("set_", "register", "unregister", "setdefault", "patch")
_CONTAINER_CHANGES = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "sort", "update",
})  # fmt: skip
"""On something that a module holds (sys.path.insert, os.environ.update), not a module: np.append makes an array."""

_OWN_STATE = frozenset({"Random", "SystemRandom", "Generator", "RandomState", "SeedSequence", "default_rng", "PCG64"})
"""Random numbers with a state of their own; every other call of a `random` module moves the one that all share."""


def changes_a_module(tree: ast.AST, imported: Collection[str]) -> bool:
    """Whether the code sets or calls something, by way of an imported name, that later code would notice."""
    return any(_is_change(node, imported) for node in ast.walk(tree))


def _is_change(node: ast.AST, imported: Collection[str]) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _path(node)[:1] in _firsts(imported)
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            return _path(target)[:1] in _firsts(imported)
        case ast.Call(func=function):
            path = _path(function)
            return path[:1] in _firsts(imported) and _is_changing_call(path)
        case _:
            return False


def _is_changing_call(path: tuple[str, ...]) -> bool:
    last = path[-1]
    if last in _CHANGING or last.startswith(_CHANGING_PREFIXES):
        return True
    if len(path) > 2 and last in _CONTAINER_CHANGES:
        return True
    return len(path) > 1 and "random" in path[:-1] and last not in _OWN_STATE


def _firsts(imported: Collection[str]) -> frozenset[tuple[str, ...]]:
    return frozenset((name,) for name in imported)


def _path(node: ast.AST) -> tuple[str, ...]:
    """plt.rcParams["a"].b is (plt, rcParams, b); empty when it does not begin with a name."""
    return tuple(reversed(list(_parts(node))))


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
