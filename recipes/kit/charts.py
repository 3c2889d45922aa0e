"""Charts as small SVG drawings: direct labels, no legend, and colours that a page may replace by its classes."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

_INK, _GREY, _BLUE, _MID, _HAIR, _OCHRE = "#15202B", "#56626D", "#0B4A78", "#8C97A1", "#E3E8EC", "#9A5B00"
_FILLS = {"blue": _BLUE, "mid": _MID, "ochre": _OCHRE}
_WIDTH = 520
_ROW = 27
_TEXT = 12.5
_CHARACTER = 6.7  # how wide one is, at the most that is usual
_PLOT_HEIGHT = 190


def bars(
    path: str,
    labels: Sequence[str],
    values: Sequence[float],
    shown: Sequence[str],
    *,
    alt: str,
    most: float | None = None,
    tone: str = "blue",
) -> None:
    """Horizontal bars from zero, a row each: name, bar, value in words."""
    name_width = min(190.0, max((len(_short(label)) for label in labels), default=0) * _CHARACTER + 14)
    value_width = max((len(word) for word in shown), default=0) * _CHARACTER + 12
    room = _WIDTH - name_width - value_width
    full = most or max([*values, 0]) or 1
    parts = []
    for number, (label, value, word) in enumerate(zip(labels, values, shown, strict=True)):
        top = number * _ROW
        length = max(room * max(value, 0) / full, 0)
        parts += [
            _line(0, top + _ROW, _WIDTH, top + _ROW, "hair", _HAIR, 0.8),
            _text(0, top + 18, _short(label), "ink", _INK, weight=500),
            f'<rect class="{tone}" x="{_n(name_width)}" y="{_n(top + 6.5)}" width="{_n(length)}" height="14" '
            f'fill="{_FILLS[tone]}"/>',
            _text(name_width + length + 7, top + 18, word, "ink", _INK, weight=600),
        ]
    height = max(len(labels), 1) * _ROW + 1
    _save(path, [*parts, _line(name_width, 0, name_width, height - 1, "ink", _INK, 0.9)], height, alt)


def columns(
    path: str,
    values: Sequence[float],
    ticks: Sequence[tuple[int, str]],
    scale: Sequence[tuple[float, str]],
    *,
    alt: str,
    gap: float = 0.12,
) -> None:
    """Upright columns from zero. `ticks`: the edge before which column, and its word; `scale`: heights to name."""
    left = max((len(word) for _, word in scale), default=0) * _CHARACTER + 10
    top, full = 8.0, max([height for height, _ in scale] + [*values, 0]) or 1
    wide = (_WIDTH - left) / max(len(values), 1)
    bottom = top + _PLOT_HEIGHT
    parts = []
    for height, word in scale:
        y = bottom - _PLOT_HEIGHT * height / full
        if height:
            parts.append(_line(left, y, _WIDTH, y, "hair", _HAIR, 0.8))
        parts.append(_text(left - 8, y + 4, word, "grey", _GREY, anchor="end"))
    for number, value in enumerate(values):
        tall = _PLOT_HEIGHT * max(value, 0) / full
        parts.append(
            f'<rect class="blue" x="{_n(left + wide * (number + gap / 2))}" y="{_n(bottom - tall)}" '
            f'width="{_n(wide * (1 - gap))}" height="{_n(tall)}" fill="{_BLUE}"/>'
        )
    parts.append(_line(left, bottom, _WIDTH, bottom, "ink", _INK, 0.9))
    for edge, word in ticks:
        x = left + wide * edge
        anchor = "start" if x < left + 24 else "end" if x > _WIDTH - 24 else "middle"
        parts.append(_text(x, bottom + 19, word, "grey", _GREY, anchor=anchor))
    _save(path, parts, bottom + 26, alt)


def round_scale(most: float, steps: int = 4) -> list[float]:
    """Heights from zero to just above `most`, at numbers that people like: 0, 50, 100, 150."""
    if most <= 0 or not math.isfinite(most):
        return [0.0]
    rough = most / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)
    return [step * number for number in range(math.ceil(most / step * 0.999) + 1)]


def _short(label: str, most: int = 26) -> str:
    """One line without what could not be seen or drawn."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in label).split()) or "(blank)"
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _text(
    x: float, y: float, words: str, name: str, colour: str, *, anchor: str = "start", weight: int = 400
) -> str:
    return (
        f'<text class="{name}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(words)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, name: str, colour: str, width: float) -> str:
    return (
        f'<line class="{name}-line" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _save(path: str, parts: Sequence[str], height: float, alt: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_n(height)}" role="img" '
        f'aria-label="{escape(alt)}" font-family="Inter, Arial, \'Liberation Sans\', sans-serif" font-size="{_TEXT}">'
    )
    Path(path).write_text("\n".join([head, f"<title>{escape(alt)}</title>", *parts, "</svg>\n"]), encoding="utf-8")
