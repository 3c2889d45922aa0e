"""Which names a piece of code uses and binds in its own scope, and which reach out of the scopes inside it."""
# The methods are named as ast.NodeVisitor calls them.

import ast
from collections.abc import Iterable

from recipes.spoken_names import may_name_anything, names_in_annotation, names_in_call, names_in_text

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Scope(ast.NodeVisitor):
    """Names of one scope. Bodies of functions count as uses where they are defined: they may run at any time after."""

    def __init__(self) -> None:
        self.loads: set[str] = set()
        self.stores: set[str] = set()
        self.imports: dict[str, str] = {}
        """Names bound by an import, and what they stand for: {"pd": "pandas", "run": "recipes.kit.run"}."""
        self.deletes: set[str] = set()
        self.outer: set[str] = set()
        """Names that are declared global in here."""
        self._module_names: set[str] = set()
        self.module_loads: set[str] = set()
        self.module_stores: set[str] = set()
        """What functions within functions use and bind of the module's, past all scopes between."""
        self.imports_everything = False
        self.spoken: set[str] = set()
        """Names in strings that a library may look up, as in a query."""
        self.may_name_anything = False

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        match node.ctx:
            case ast.Load():
                self.loads.add(node.id)
            case ast.Store():
                self.stores.add(node.id)
            case _:
                self.loads.add(node.id)
                self.deletes.add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.loads.add(node.target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_annotations([node.annotation])
        self.visit_all([node.value])
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_Call(self, node: ast.Call) -> None:
        self.spoken |= names_in_call(node)
        self.may_name_anything |= may_name_anything(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        self.spoken |= names_in_text(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.spoken |= names_in_text(node)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.outer.update(node.names)
        self._module_names.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.loads.update(node.names)
        self.outer.update(node.names)

    def visit_Import(self, node: ast.Import) -> None:
        """`import xml.dom` binds "xml." too: who says `import xml` later may find xml.dom there."""
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.imports[bound] = alias.name if alias.asname else bound
            if not alias.asname and "." in alias.name:
                self.imports[f"{bound}."] = bound
            elif not alias.asname:
                self.spoken.add(f"{bound}.")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.imports_everything = True
            else:
                self.imports[alias.asname or alias.name] = f"{'.' * node.level}{node.module or ''}.{alias.name}"

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.stores.add(node.name)
            self.deletes.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.stores.update([node.name] if node.name else [])
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self.stores.update([node.name] if node.name else [])

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.stores.update([node.rest] if node.rest else [])
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def _visit_function(self, node: _Function) -> None:
        self.visit_all(node.decorator_list)
        self._visit_annotations([*_annotations(node.args), *([node.returns] if node.returns else [])])
        self._visit_inner(node.args, node.body)
        self.stores.add(node.name)

    def _visit_annotations(self, annotations: Iterable[ast.expr]) -> None:
        for annotation in annotations:
            self.spoken |= names_in_annotation(annotation)
            self.visit(annotation)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_inner(node.args, [node.body])

    def _visit_inner(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        self.visit_all([*arguments.defaults, *arguments.kw_defaults])
        inner = Scope()
        inner.stores.update(argument.arg for argument in _all(arguments))
        inner.visit_all(body)
        self._take(inner)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        inner = Scope()
        inner.visit_all(node.body)
        self.spoken |= inner.spoken
        self.loads |= inner.loads  # `x = x` in a class body reads the outer one
        self.spoken |= {f"_{node.name.lstrip('_')}{name}" for name in inner.loads if _is_mangled(name)}
        self._take(inner)
        self.stores.add(node.name)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._visit_comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._visit_comprehension(node, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._visit_comprehension(node, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._visit_comprehension(node, [node.key, node.value])

    def _visit_comprehension(self, node: _Comprehension, results: list[ast.expr]) -> None:
        self.visit(node.generators[0].iter)
        inner = Scope()
        for number, generator in enumerate(node.generators):
            inner.visit_all([generator.target, *generator.ifs, generator.iter if number else None])
        inner.visit_all(results)
        walrus = {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)}
        inner.stores -= walrus
        self.stores |= walrus  # `:=` in a comprehension binds outside of it
        self._take(inner)

    def _take(self, inner: "Scope") -> None:
        """What an inner scope uses and does not bind itself, and what it binds outside."""
        own = (inner.stores | set(inner.imports)) - inner.outer
        self.loads |= inner.loads - own
        self.spoken |= inner.spoken - own
        self.may_name_anything |= inner.may_name_anything
        self.imports_everything |= inner.imports_everything
        self.module_loads |= inner.module_loads | (inner.loads & inner._module_names)
        self.module_stores |= inner.module_stores | ((inner.stores | set(inner.imports)) & inner._module_names)


def _is_mangled(name: str) -> bool:
    """In a class C, `__x` is `_C__x`."""
    return name.startswith("__") and not name.endswith("__")


def _all(arguments: ast.arguments) -> list[ast.arg]:
    lone = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *lone]


def _annotations(arguments: ast.arguments) -> list[ast.expr]:
    return [argument.annotation for argument in _all(arguments) if argument.annotation]
