"""Which cells visibly change what imported modules do from then on.

Every later one needs such a cell: what a module's state touches cannot be seen from outside (a plot by pandas obeys
matplotlib's settings, a sample obeys numpy's random state), so nobody is taken to be unaffected.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from recipes.handles import STATES, Handles, handles_in, path_of
from recipes.imports import imports_in, own_packages

_CHANGING = frozenset({
    "__delattr__", "__delitem__", "__setattr__", "__setitem__", "addFilter", "addHandler", "addLevelName", "addfont",
    "alarm", "basicConfig", "begin", "captureWarnings", "chdir", "clear_cache", "clear_flags", "clear_traps", "delitem",
    "dictConfig", "disable", "enable", "field_size_limit", "fileConfig", "filterwarnings", "ioff", "ion", "putenv",
    "rc", "rc_file", "rcdefaults", "reconfigure", "reload", "removeFilter", "removeHandler", "reset_option",
    "reset_orig", "resetwarnings", "restore_defaults", "seed", "set", "setLevel", "setattr", "setbufsize", "setcontext",
    "seterr", "seterrcall", "setfirstweekday", "setitem", "setitimer", "setlocale", "setprofile", "setrecursionlimit",
    "setswitchinterval", "settrace", "signal", "simplefilter", "switch_backend", "tzset", "umask", "unsetenv", "use",
    "xkcd",
})  # fmt: skip
"""Calls by their last name: plt.rc, np.random.seed, warnings.filterwarnings, os.chdir, matplotlib.use."""

_CHANGING_PREFIXES = ("deregister", "disable_", "enable_", "patch", "register", "set_", "setdefault", "unregister")
_CONTAINER_CHANGES = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
})  # fmt: skip
"""On something that a module holds (sys.path.insert, os.environ.update), not a module: np.append makes an array."""

_OWN_STATE = frozenset({"Random", "SystemRandom", "Generator", "RandomState", "SeedSequence", "default_rng", "PCG64"})
"""Random numbers with a state of their own; every other call of a `random` module moves the one that all share."""

_STAYS = frozenset({"__enter__", "enter_context", "enter_async_context"})
"""Entered here and left later, or never: a setting may hold until then."""

_LOOKS = frozenset({"dict", "dir", "getattr", "hasattr", "help", "id", "isinstance", "len", "list", "print", "repr"})
"""Functions that change nothing of what they are handed."""


def changing_cells(trees: Mapping[str, ast.AST]) -> frozenset[str]:
    """The cells that change a module, themselves or by a function of another one, or use one of the run's own."""
    handles = handles_in(trees.values())
    own = own_packages(trees.values())
    imported = {cell: imports_in(tree) for cell, tree in trees.items()}
    theirs = {each.name for several in imported.values() for each in several if each.package in own} - {""}
    callers = _callers(trees.values(), handles, theirs)
    return frozenset(
        cell
        for cell, tree in trees.items()
        if changes_a_module(tree, handles)
        or _mentions(tree, callers)
        or any(each.package in own for each in imported[cell])
    )


def _callers(trees: Iterable[ast.AST], handles: Handles, known: Collection[str]) -> frozenset[str]:
    """Names through which later cells may change a module: `known`, functions that do it, what classes make."""
    named = [pair for tree in trees for pair in _named(tree)]
    found, makers, more = {*known}, {*known}, True
    while more:
        new = {
            name
            for name, node in named
            if name not in found
            and (
                _mentions(node, makers)
                or (not isinstance(node, ast.Call) and (changes_a_module(node, handles) or _mentions(node, found)))
            )
        }
        more = bool(new)
        found |= new
        makers |= {name for name, node in named if name in new and isinstance(node, (ast.ClassDef, ast.Call))}
    return frozenset(found)


def changes_a_module(tree: ast.AST, handles: Handles) -> bool:
    """Whether the code sets, calls or hands on something of a module's, as later code would notice."""
    harmless = {id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items}
    return any(_is_change(node, handles, harmless) for node in ast.walk(tree))


def _named(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Functions, classes, second names for them, and what calls give."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(value=ast.Lambda() | ast.Name() | ast.Attribute() | ast.Call() as value):
                yield from ((target.id, value) for target in node.targets if isinstance(target, ast.Name))
            case _:
                pass


def _mentions(tree: ast.AST, names: Collection[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))


def _is_change(node: ast.AST, handles: Handles, harmless: Collection[int]) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return handles.holds(path_of(node))
        case ast.AugAssign(target=ast.Name(id=name)):
            return handles.holds((name,))
        case ast.Call() if id(node) not in harmless:
            return _is_changing_call(node, handles)
        case ast.FunctionDef(decorator_list=decorators) | ast.ClassDef(decorator_list=decorators):
            return any(_is_changing_path(path_of(each), handles) for each in decorators)
        case _:
            return False


def _is_changing_call(call: ast.Call, handles: Handles) -> bool:
    path = path_of(call.func)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else path[-1] if path else ""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if last in _STAYS or _is_changing_path(path, handles):
        return True
    if last in ("setattr", "delattr", "setitem", "delitem") or last.startswith(("__set", "__del")):
        return any(handles.holds(path_of(each)) for each in given[:1])
    return last not in _LOOKS and any(_is_state(each, handles) for each in given)


def _is_state(node: ast.expr, handles: Handles) -> bool:
    """A module, or what it keeps for everybody, handed to a function that may change it."""
    match node:
        case ast.Name(id=name):
            return handles.is_module(name)
        case ast.Attribute(attr=name):
            return name in STATES and handles.holds(path_of(node))
        case _:
            return False


def _is_changing_path(path: tuple[str, ...], handles: Handles) -> bool:
    if not handles.holds(path):
        return False
    last = path[-1]
    if last in _CHANGING or last.startswith(_CHANGING_PREFIXES):
        return True
    kept = len(path) if handles.is_module(path[0]) else len(path) + 1
    if "Config" in path or (len(path) > 1 and kept > 2 and last in _CONTAINER_CHANGES):
        return True
    return len(path) > 1 and "random" in path[:-1] and last not in _OWN_STATE
