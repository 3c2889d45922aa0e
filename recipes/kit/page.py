"""Pages: HTML from a Jinja template, with everything in one file."""
# jinja2's sandbox renders what people wrote; what comes from data is escaped.

import base64
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from recipes.kit.words import amount, count, day, percent, short, visible


def render(template: str, **values: Any) -> str:
    """The page that a template makes of these values: `page.render("templates/report.html.j2", title=…)`."""
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader("."),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    words: tuple[Any, ...] = (amount, count, day, percent, short, visible)  # Any: as Jinja's own
    environment.filters.update({word.__name__: word for word in words})
    return environment.get_template(template).render(values)


def write(path: str, template: str, **values: Any) -> None:
    """Render a page into a file, and make its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(render(template, **values), encoding="utf-8")


def svg(path: str) -> Markup:
    """A drawing of ours, to stand in the page itself. Never one from outside: it could carry a script."""
    text = Path(path).read_text(encoding="utf-8")
    return Markup(text[text.index("<svg") :])  # noqa: S704  (made by a cell from escaped text)


def png(path: str) -> str:
    """A picture as an address that holds it: `<img src="{{ … }}">`."""
    return f"data:image/png;base64,{base64.b64encode(Path(path).read_bytes()).decode()}"
