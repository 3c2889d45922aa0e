"""Charts as small SVG drawings: direct labels, no legend, and colours that a page may replace by its classes."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from unicodedata import combining, east_asian_width

from recipes.kit.words import visible

_INK, _GREY, _BLUE, _MID, _HAIR, _OCHRE = "#15202B", "#56626D", "#0B4A78", "#8C97A1", "#E3E8EC", "#9A5B00"
_FILLS = {"blue": _BLUE, "mid": _MID, "ochre": _OCHRE}
_WIDTH = 340  # of a third of a page, or of a telephone: its text stays at 12 px in both
_ROW = 26
_TEXT = 12
_CHARACTER = 7.4  # how wide one is at most, as a rule
_BOLD_CHARACTER = 8.4
_WIDEST_NAME = 146.0
_PLOT_HEIGHT = 150


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
    names = [_fitting(label) for label in labels]
    name_width = max((_width(name) for name in names), default=0) + 12
    value_width = max((len(word) for word in shown), default=0) * _BOLD_CHARACTER + 8
    room = _WIDTH - name_width - value_width
    full = most or max([*values, 0]) or 1
    parts: list[str] = []
    for number, (name, value, word) in enumerate(zip(names, values, shown, strict=True)):
        top = number * _ROW
        length = max(room * max(value, 0) / full, 0)
        parts += [
            _line(0, top + _ROW, _WIDTH, top + _ROW, "hair", _HAIR, 0.8),
            _text(0, top + 17.5, name, "ink", _INK, weight=500),
            _bar(name_width, top + 6.5, length, 13, tone),
            _text(name_width + length + 6, top + 17.5, word, "ink", _INK, weight=600),
        ]
    height = max(len(labels), 1) * _ROW + 1
    _save(path, [*parts, _line(name_width, 0, name_width, height - 1, "ink", _INK, 0.9)], height, alt)


def columns(
    path: str,
    values: Sequence[float],
    ticks: Sequence[tuple[float, str]],
    scale: Sequence[tuple[float, str]],
    *,
    across: str,
    up: str,
    alt: str,
    gap: float = 0.12,
) -> None:
    """Upright columns from zero. `ticks`: where (1 is the edge after the first column) and its word; `scale`: heights
    to name; `across` and `up` name the axes.
    """
    left = max((_width(word) for _, word in scale), default=0) + 10
    top, full = 26.0, max([height for height, _ in scale] + [*values, 0]) or 1
    wide = (_WIDTH - left) / max(len(values), 1)
    bottom = top + _PLOT_HEIGHT
    parts = [_text(0, 11, up, "grey", _GREY)]
    for height, word in scale:
        y = bottom - _PLOT_HEIGHT * height / full
        if height:
            parts.append(_line(left, y, _WIDTH, y, "hair", _HAIR, 0.8))
        parts.append(_text(left - 8, y + 4, word, "grey", _GREY, anchor="end"))
    for number, value in enumerate(values):
        tall = _PLOT_HEIGHT * max(value, 0) / full
        parts.append(_bar(left + wide * (number + gap / 2), bottom - tall, wide * (1 - gap), tall, "blue"))
    parts.append(_line(left, bottom, _WIDTH, bottom, "ink", _INK, 0.9))
    for edge, word in ticks:
        x = left + wide * edge
        half = _width(word) / 2
        anchor = "start" if x < left + half / 2 else "end" if x > _WIDTH - half else "middle"
        parts.append(_text(x, bottom + 17, word, "grey", _GREY, anchor=anchor))
    parts.append(
        _text((left + _WIDTH) / 2, bottom + 36, _fitting(across, _WIDTH - left), "grey", _GREY, anchor="middle")
    )
    _save(path, parts, bottom + 42, alt)


def round_scale(most: float, steps: int = 4) -> list[float]:
    """Heights from zero to just above `most`, at numbers that people like: 0, 50, 100, 150."""
    if most <= 0 or not math.isfinite(most):
        return [0.0]
    rough = most / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)
    return [step * number for number in range(math.ceil(most / step * 0.999) + 1)]


def round_bins(low: float, high: float, *, whole: bool = False, most: int = 20) -> list[float]:
    """Edges at numbers that people like, from `low` or below to `high` or above; `whole` numbers are never parted."""
    rough = (high - low) / most
    if rough <= 0 or not math.isfinite(rough):
        return [low, low + 1]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, max(last, first) + 1 + (step * last <= high and whole))]


def _fitting(label: str, room: float = _WIDEST_NAME - 12) -> str:
    """One line that fits, without what could not be drawn."""
    plain = visible(label) or "(blank)"
    if _width(plain) <= room:
        return plain
    while plain and _width(plain) > room - _CHARACTER:
        plain = plain[:-1]
    return f"{plain.rstrip()}…"


def _width(words: str) -> float:
    """How wide they are at most, as a rule: characters of East Asia take two places, accents none."""
    return _CHARACTER * sum(2 if east_asian_width(c) in "WF" else not combining(c) for c in words)


def _text(x: float, y: float, words: str, name: str, colour: str, *, anchor: str = "start", weight: int = 400) -> str:
    return (
        f'<text class="{name}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(words)}</text>'
    )


def _bar(x: float, y: float, width: float, height: float, tone: str) -> str:
    return (
        f'<rect class="{tone}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
        f'fill="{_FILLS[tone]}"/>'
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
    alt = visible(alt)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_n(height)}" role="img" '
        f'aria-label="{escape(alt)}" font-family="Inter, Arial, \'Liberation Sans\', sans-serif" font-size="{_TEXT}">'
    )
    Path(path).write_text("\n".join([head, f"<title>{escape(alt)}</title>", *parts, "</svg>\n"]), encoding="utf-8")
