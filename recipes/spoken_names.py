"""Names that stand in strings which a library looks up as variables: queries, formulas, SQL."""

import ast
import re
from collections.abc import Iterator

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_AT = re.compile(r"@\s*([^\W\d]\w*)")
_READERS = frozenset({
    "Formula", "SQLContext", "build_design_matrices", "dmatrices", "dmatrix", "eval", "exec",
    "execute_global", "from_formula", "gee", "glm", "glmgam", "gls", "glsar", "logit", "mixedlm", "mnlogit",
    "model_matrix", "negativebinomial", "nominal_gee", "ols", "ordinal_gee", "phreg", "poisson", "probit", "quantreg",
    "query", "register_globals", "rlm", "sql", "wls",
})  # fmt: skip
"""Calls by their last name: df.query, pd.eval, smf.ols, patsy.dmatrix, pl.sql. They see every variable there is."""

_NAMED = _READERS | {"attrgetter", "evaluate", "execute", "executemany", "getattr", "hasattr"}
"""Also those whose text only rarely names a variable: one that is computed is not taken to name any."""

_AMBIGUOUS = frozenset({"logit", "poisson", "probit"})
"""Numbers are drawn and turned by functions of these names too; formulas come with data."""

_TEXTS = ("expr", "formula", "formula_like", "query", "sql")


def names_in_text(node: ast.Constant | ast.JoinedStr) -> frozenset[str]:
    """What a string may name wherever it goes: @limit, and everything in a formula."""
    text = _text(node)
    return frozenset(_IDENTIFIER.findall(text) if "~" in text else _AT.findall(text))


def names_in_annotation(node: ast.expr) -> frozenset[str]:
    """What a type in quotes names: it may be evaluated at any time."""
    texts = [_text(part) for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return frozenset(name for text in texts for name in _IDENTIFIER.findall(text))


def names_in_call(call: ast.Call) -> frozenset[str]:
    """What the strings in a call name, when its function looks names up."""
    if _called(call) not in _NAMED:
        return frozenset()
    texts = [_text(node) for node in ast.walk(call) if isinstance(node, ast.Constant)]
    return frozenset(name for text in texts for name in _IDENTIFIER.findall(text))


def may_name_anything(call: ast.Call) -> bool:
    """Whether names are looked up that the code does not show, because their text is computed."""
    called = _called(call)
    if called in ("SQLContext", "register_globals"):
        return True
    if called in _AMBIGUOUS and not _is_formulas(call):
        return False
    return called in _READERS and any(not _is_shown(text) for text in _given(call))


def _is_formulas(call: ast.Call) -> bool:
    """Whether it is statsmodels' function: imported as such, of `smf`, or with a formula or data."""
    match call.func:
        case ast.Name() | ast.Attribute(value=ast.Name(id="smf")):
            return True
        case _:
            return any(keyword.arg in ("data", "formula") for keyword in call.keywords)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args[:1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg is None or keyword.arg in _TEXTS)


def _is_shown(node: ast.expr) -> bool:
    """A value put into a text is taken for a value; in a formula, or after an @, it may be a name."""
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr():
            text = _text(node)
            return not ("~" in text or re.search(r"@\s*\0", text)) or "\0" not in text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_shown(left) and _is_shown(right)
        case _:
            return False


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """The text as far as the code shows it, with a NUL for each value that is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
