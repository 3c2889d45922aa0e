"""SVG: well formed, and something is drawn in it."""

from typing import Any
from xml.parsers import expat

_SHAPES = frozenset(
    ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "image", "use", "foreignObject")
)


def check(file: Any) -> list[dict[str, Any]]:
    names: set[str] = set()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda name, _: names.add(name.rpartition(" ")[2])
    with open(file.object, "rb") as data:
        parser.ParseFile(data)
    if "svg" not in names:
        return [file.found("opens", 0, "there is no drawing in it", required=True)]
    is_blank = not names & _SHAPES
    return [
        file.found("opens", 1),
        file.found("not blank", float(not is_blank), "nothing is drawn" if is_blank else ""),
    ]
