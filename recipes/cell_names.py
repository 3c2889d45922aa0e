"""What a cell uses, binds and changes, read from its code."""

import ast
import builtins
import re
from collections.abc import Iterable
from dataclasses import dataclass

from recipes.errors import RecipeInvalid
from recipes.reach import NAMES, reaches_all
from recipes.recipe import RecipeCell
from recipes.scopes import Scope

KNOWN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "display", "get_ipython"}
_DEEPEST = 200
"""Levels of a cell's syntax tree: each takes a few of the thousand calls that Python lets stand open."""
_RESULTS = re.compile(r"_{1,3}|_i{0,3}\d*|_(?:dh|ih|oh)|In|Out")
"""What IPython keeps of earlier cells."""
_MAGIC = re.compile(r"^(\s*)(?:[\w.,\s]+=\s*)?[%!?].*$|^.*\?{1,2}$")


@dataclass(frozen=True, slots=True)
class CellNames:
    """The names of one cell.

    `uses` leaves out what the cell itself binds first, `mentions` does not. `spoken` are those in strings that a
    library may look up; with `may_name_anything` it may look up any, but binds none.
    """

    name: str
    uses: frozenset[str]
    defines: frozenset[str]
    imports: dict[str, str]
    mentions: frozenset[str]
    spoken: frozenset[str]
    may_name_anything: bool
    touches_everything: bool
    tree: ast.Module


def names_of(cell: RecipeCell) -> CellNames:
    tree, has_magic = _parsed(cell)
    flow = _Flow()
    flow.run(tree.body)
    scope = flow.scope
    defines = frozenset(scope.stores | scope.deletes)
    results = {name for name in flow.uses if _RESULTS.fullmatch(name) and name not in defines}
    return CellNames(
        name=cell.name,
        uses=frozenset(flow.uses),
        defines=defines,
        imports=dict(scope.imports),
        mentions=frozenset(scope.loads | scope.spoken | defines),
        spoken=frozenset(flow.spoken),
        may_name_anything=scope.may_name_anything,
        touches_everything=has_magic
        or scope.imports_everything
        or bool(scope.loads & NAMES or results)
        or reaches_all(tree),
        tree=tree,
    )


def _parsed(cell: RecipeCell) -> tuple[ast.Module, bool]:
    """The cell's tree, and whether it has magics. It is flat enough for whoever walks it."""
    try:
        tree, has_magic = _tree(cell)
        _check_depth(tree)
    except (RecursionError, MemoryError):
        raise RecipeInvalid(
            f"notebook.py, line {cell.line}: the cell '{cell.name}' is nested too deeply to be read",
            f"have at most {_DEEPEST} levels: split what is long into several statements",
        ) from None
    return tree, has_magic


def _check_depth(tree: ast.AST) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise RecursionError


def _tree(cell: RecipeCell) -> tuple[ast.Module, bool]:
    """Magics become nothing, on the same lines."""
    try:
        return ast.parse(cell.source), False
    except (SyntaxError, ValueError) as error:
        plain = "\n".join(_MAGIC.sub(r"\1pass", line) for line in cell.source.split("\n"))
        if cell.source.startswith("%%"):
            plain = ""  # the whole cell is in another language, or measured: what it binds is not known
        if plain != cell.source:
            try:
                return ast.parse(plain), True
            except (SyntaxError, ValueError):
                pass
        line = cell.line - 1 + (error.lineno or 1) if isinstance(error, SyntaxError) else cell.line
        raise RecipeInvalid(
            f"notebook.py, line {line}, in cell '{cell.name}': {error.args[0]}", "mend that line"
        ) from None


class _Flow:
    """Walks a cell's statements in order, to know which names it has surely bound before it uses them."""

    def __init__(self) -> None:
        self.scope = Scope()
        self.uses: set[str] = set()
        self.spoken: set[str] = set()

    def run(self, statements: Iterable[ast.stmt], bound: Iterable[str] = ()) -> set[str]:
        """What is surely bound after these statements."""
        surely = set(bound)
        for statement in statements:
            surely = self._statement(statement, surely)
        return surely

    def _statement(self, node: ast.stmt, bound: set[str]) -> set[str]:  # noqa: PLR0911  (one for each kind)
        match node:
            case ast.If():
                bound = self._simple(node.test, bound)
                return self.run(node.body, bound) & self.run(node.orelse, bound)
            case ast.For() | ast.AsyncFor():
                return self._loop(node, self._simple(node.iter, bound), node.target)
            case ast.While():
                return self._loop(node, self._simple(node.test, bound))
            case ast.With() | ast.AsyncWith():
                inner = self.run(node.body, self._with_items(node.items, bound))
                return inner if all(_is_open(item.context_expr) for item in node.items) else bound - _deleted(node)
            case ast.Try() | ast.TryStar():
                return self._try(node, bound)
            case ast.Match():
                return self._match(node, self._simple(node.subject, bound))
            case _:
                return self._simple(node, bound)

    def _loop(
        self, node: ast.For | ast.AsyncFor | ast.While, bound: set[str], target: ast.expr | None = None
    ) -> set[str]:
        self.run(node.orelse, bound)
        self.run(node.body, bound if target is None else self._simple(target, bound))
        return bound - _deleted(node)

    def _try(self, node: ast.Try | ast.TryStar, bound: set[str]) -> set[str]:
        """Anything in it may not have happened."""
        inside = self.run(node.body, bound)
        before = bound - _deleted(node)
        for handler in node.handlers:
            if handler.type:
                self._simple(handler.type, before)
            self.scope.stores.update([handler.name] if handler.name else [])
            self.run(handler.body, before | ({handler.name} if handler.name else set()))
        self.run(node.orelse, inside)
        return self.run(node.finalbody, before)

    def _match(self, node: ast.Match, bound: set[str]) -> set[str]:
        for case in node.cases:
            inside = self._simple(case.pattern, bound) | _captured(case.pattern)
            inside = inside if case.guard is None else self._simple(case.guard, inside)
            self.run(case.body, inside)
        return bound - _deleted(node)

    def _with_items(self, items: Iterable[ast.withitem], bound: set[str]) -> set[str]:
        for item in items:
            bound = self._simple(item.context_expr, bound)
            bound = bound if item.optional_vars is None else self._simple(item.optional_vars, bound)
        return bound

    def _simple(self, node: ast.AST, bound: set[str]) -> set[str]:
        """What has no statements in it. All that it uses counts as used before it binds."""
        scope = Scope()
        scope.visit(node)
        scope.loads |= scope.module_loads
        scope.stores |= scope.module_stores
        self.uses |= scope.loads - bound - _own_name(node)
        self.spoken |= scope.spoken - bound
        self.scope.loads |= scope.loads
        self.scope.spoken |= scope.spoken
        self.scope.may_name_anything |= scope.may_name_anything
        self.scope.stores |= scope.stores
        self.scope.imports |= scope.imports
        self.scope.deletes |= scope.deletes
        self.scope.imports_everything |= scope.imports_everything
        return (bound | _bound_at_once(node, scope) | set(scope.imports)) - scope.deletes


def _deleted(node: ast.AST) -> set[str]:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del)}
    return names | {part.name for part in ast.walk(node) if isinstance(part, ast.ExceptHandler) and part.name}


def _own_name(node: ast.AST) -> set[str]:
    """A function that calls itself uses no earlier one of its name, unless what is evaluated at once does."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    outside = Scope()
    outside.visit_all([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
    return {node.name} - outside.loads


def _captured(pattern: ast.pattern) -> set[str]:
    scope = Scope()
    scope.visit(pattern)
    return scope.stores


def _bound_at_once(node: ast.AST, scope: Scope) -> set[str]:
    """Names bound for sure when the node is done: not those that only a function inside it would bind."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    certain = {
        part.id for part in _outside_functions(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return certain & scope.stores


def _outside_functions(node: ast.AST) -> Iterable[ast.AST]:
    """The nodes that run for sure when this one does."""
    yield node
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, (ast.BoolOp, ast.IfExp)) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
        return
    for child in ast.iter_child_nodes(node):
        yield from _outside_functions(child)


def _is_open(node: ast.expr) -> bool:
    """`with open(…)` never swallows an error, so what is bound inside is bound after it."""
    match node:
        case ast.Call(func=ast.Name(id="open") | ast.Attribute(attr="open")):
            return True
        case _:
            return False
