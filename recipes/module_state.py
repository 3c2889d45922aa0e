"""Which cells visibly change what imported modules do from then on.

Every later one needs such a cell: what a module's state touches cannot be seen from outside (a plot by pandas obeys
matplotlib's settings), so nobody is taken to be unaffected.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from recipes.handles import SHARED, STATES, Handles, handles_in, path_of
from recipes.imports import imports_in, own_packages

_CHANGING = frozenset({
    "addFilter", "addHandler", "addLevelName", "addfont", "alarm", "basicConfig", "captureWarnings", "chdir",
    "clear_cache", "clear_flags", "clear_traps", "dictConfig", "disable", "enable", "field_size_limit", "fileConfig",
    "filterwarnings", "ioff", "ion", "putenv", "rc", "rc_file", "rc_file_defaults", "rcdefaults", "reconfigure",
    "reload", "removeFilter", "removeHandler", "reset_option", "reset_orig", "resetwarnings", "restore_defaults",
    "seed", "set", "setLevel", "setbufsize", "setcontext", "seterr", "seterrcall", "setfirstweekday", "setitimer",
    "setlocale", "setprofile", "setrecursionlimit", "setswitchinterval", "settrace", "signal", "simplefilter",
    "switch_backend", "tzset", "umask", "unsetenv", "use", "xkcd",
})  # fmt: skip
"""Calls by their last name: plt.rc, np.random.seed, warnings.filterwarnings, os.chdir, matplotlib.use."""

_CHANGING_PREFIXES = ("deregister", "disable_", "enable_", "patch", "register", "set_", "setdefault", "unregister")
_OF_TABLES = frozenset({
    "set_axis", "set_categories", "set_codes", "set_difference", "set_flags", "set_index", "set_intersection",
    "set_levels", "set_names", "set_sorted", "set_symmetric_difference", "set_union",
})  # fmt: skip
"""Methods that give a new table: pd.read_csv(…).set_index(…)."""

_CONTAINER_CHANGES = frozenset({
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
})  # fmt: skip
"""On something that a module holds (sys.path.insert, os.environ.update), not a module: np.append makes an array."""

_OWN_STATE = frozenset({"Random", "SystemRandom", "Generator", "RandomState", "SeedSequence", "default_rng", "PCG64"})
"""Random numbers with a state of their own; every other call of a `random` module moves the one that all share."""

_STARTS_ANEW = (("random",), ("numpy", "random"))
"""Modules whose shared state is set anew before each cell: nothing of it reaches a later one."""

_TO_SCRATCH = frozenset({"expanduser", "gettempdir", "gettempdirb", "home"})
"""They lead to a folder that is in no record: a later cell may find there what this one leaves."""

_STAYS = frozenset({"__aenter__", "__enter__", "enter_async_context", "enter_context", "exec_module", "load_module"})
"""Entered here and left later, or never: a setting may hold until then. And what runs code that is not seen."""

_OF_OBJECTS = frozenset({
    "__delattr__", "__delitem__", "__setattr__", "__setitem__", "delattr", "delitem", "setattr", "setitem",
})  # fmt: skip
"""Functions that change what they are handed first, or belong to."""

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
    found = {*known} | {name for name, n in named if not isinstance(n, ast.Call) and changes_a_module(n, handles)}
    makers = {*known} | {name for name, node in named if name in found and isinstance(node, ast.ClassDef)}
    more = True
    while more:
        new = [
            (name, node)
            for name, node in named
            if name not in found and _mentions(node, makers if isinstance(node, ast.Call) else found)
        ]
        more = bool(new)
        found |= {name for name, _ in new}
        makers |= {name for name, node in new if isinstance(node, (ast.ClassDef, ast.Call))}
    return frozenset(found)


def changes_a_module(tree: ast.AST, handles: Handles) -> bool:
    """Whether the code sets, calls, hands on or keeps something of a module's, as later code would notice."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, (ast.With, ast.AsyncWith))]
    entered = [item.context_expr for node in blocks for item in node.items]
    parts = [node.value for node in ast.walk(tree) if isinstance(node, (ast.Attribute, ast.Subscript))]
    harmless = {id(node) for node in (*entered, *parts)} | {id(n.func) for n in entered if isinstance(n, ast.Call)}
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
            return bool(handles.origin(path_of(node))) or _is_of_class(node)
        case ast.AugAssign(target=ast.Name(id=name)):
            return name in handles.names
        case ast.Attribute() | ast.Name() if id(node) not in harmless and not _is_of_ones_own(node):
            return _is_changing_function(path_of(node), handles)
        case ast.Call() if id(node) not in harmless:
            return _is_changing_call(node, handles)
        case ast.Constant(value=str(text)):
            return text == "~" or text.startswith("~/")
        case _:
            return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _sets_what_it_is_handed(node)


def _sets_what_it_is_handed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`def method_of(cls)` around `setattr(cls, …)`: it may be handed a library's class."""
    handed = {(argument.arg,) for argument in (*function.args.posonlyargs, *function.args.args)} - {("self",)}
    set_first = [n.args[0] for n in ast.walk(function) if isinstance(n, ast.Call) and path_of(n.func) == ("setattr",)]
    return any(path_of(each) in handed for each in set_first)


def _is_of_class(node: ast.expr) -> bool:
    """type(x).a and x.__class__.a: it may be anybody's class."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == "type" for each in calls) or "__class__" in path_of(node)


def _is_of_ones_own(node: ast.expr) -> bool:
    """plt.gca().set_title: what a module's function gave is no more the module's than a variable that holds it."""
    called = [path_of(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(len(path) > 1 and path[-1] not in SHARED for path in called)


def _is_changing_function(path: tuple[str, ...], handles: Handles) -> bool:
    """Also when it is not called here: it may be later, by another name."""
    origin = handles.origin(path)
    if not origin or origin[0] == "recipes" or origin[-1] in _OF_TABLES:
        return False
    if any(origin[: len(module)] == module for module in _STARTS_ANEW):
        return False
    last = origin[-1]
    if last in _CHANGING or last in _TO_SCRATCH or last.startswith(_CHANGING_PREFIXES) or "Config" in origin:
        return True
    return len(origin) > 1 and "random" in origin[:-1] and last not in _OWN_STATE and len(path) > 1


def _is_changing_call(call: ast.Call, handles: Handles) -> bool:
    path = path_of(call.func)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else path[-1] if path else ""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if last in _STAYS:
        return True
    if handles.origin(path) and (
        last in ("begin", *_OF_OBJECTS) or (last in _CONTAINER_CHANGES and len(path) > 1 and handles.depth(path) > 1)
    ):
        return True
    if last in _OF_OBJECTS:
        return any(handles.origin(path_of(each)) or _is_of_class(each) for each in given[:1])
    return last not in _LOOKS and any(_is_state(each, handles) for each in given)


def _is_state(node: ast.expr, handles: Handles) -> bool:
    """A module, or what it keeps for everybody, handed to a function that may change it."""
    match node:
        case ast.Name(id=name):
            return handles.is_module(name)
        case ast.Attribute(attr=name):
            return name in STATES and bool(handles.origin(path_of(node)))
        case _:
            return False
