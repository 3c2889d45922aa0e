"""What the names stand for that imports bind, and which imports run code of the recipe's own."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LIBRARIES = frozenset({
    "IPython", "PIL", "asttokens", "brotli", "brotlicffi", "cffi", "colorama", "contourpy", "cssselect2", "cycler",
    "dateutil", "et_xmlfile", "executing", "fastjsonschema", "fontTools", "formulaic", "interface_meta", "jedi",
    "jinja2", "kiwisolver", "lxml", "markupsafe", "matplotlib", "matplotlib_inline", "mpl_toolkits", "narwhals",
    "numpy", "openpyxl", "packaging", "pandas", "parso", "patsy", "pexpect", "polars", "pptx", "prompt_toolkit",
    "psutil", "ptyprocess", "pure_eval", "pyarrow", "pycparser", "pydyf", "pygments", "pylab", "pyparsing", "pyphen",
    "recipes", "scipy", "six", "stack_data", "statsmodels", "tinycss2", "tinyhtml5", "traitlets", "typing_extensions",
    "tzdata", "wcwidth", "weasyprint", "webencodings", "wrapt", "xlsxwriter", "zopfli",
})  # fmt: skip
"""What requirements-sandbox.lock installs, as it is imported. What is missing here is taken for the recipe's own."""

_PYTHON_FILE = re.compile(r"([\w./-]*)\.py\b")
IMPORTERS = frozenset({
    "SourceFileLoader", "__import__", "import_module", "reload", "run_module", "run_path", "spec_from_file_location",
})  # fmt: skip
"""Functions that import what their first argument names."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A name, and what it stands for. `is_module`: surely a module, which `from a import b` does not say."""

    name: str
    origin: str
    is_module: bool

    @property
    def package(self) -> str:
        return self.origin.partition(".")[0]


def imports_in(tree: ast.AST) -> frozenset[Imported]:
    """Everything imported in the code, in functions and classes too. A call that imports binds the name "" here."""
    return frozenset(found for node in ast.walk(tree) for found in _imports(node))


def _imports(node: ast.AST) -> Iterator[Imported]:
    match node:
        case ast.Import():
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                yield Imported(bound, alias.name if alias.asname else bound, is_module=True)
        case ast.ImportFrom():
            origin = f"{'.' * node.level}{node.module or ''}"
            yield from (Imported(a.asname or a.name, f"{origin}.{a.name}", is_module=False) for a in node.names)
        case ast.Call(
            func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(origin)), *_]
        ) if called in IMPORTERS:
            yield Imported("", origin, is_module=True)
        case _:
            pass


def own_packages(trees: Iterable[ast.AST]) -> frozenset[str]:
    """Packages that come from the run's own files: not the standard library's, nor one that the sandbox has."""
    several = list(trees)
    written = {part for tree in several for part in _files_named(tree)}
    packages = {imported.package for tree in several for imported in imports_in(tree)}
    return frozenset(
        package for package in packages if package in written or package not in (sys.stdlib_module_names | _LIBRARIES)
    )


def _files_named(tree: ast.AST) -> Iterator[str]:
    """The parts of paths of Python files that stand in the code: helper.py, tools/__init__.py."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for path in _PYTHON_FILE.findall(node.value):
                yield from path.split("/")
