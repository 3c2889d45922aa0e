"""Numbers, names and axes as people read them."""

import math

import pytest

from recipes.kit.charts import round_bins
from recipes.kit.words import amount, percent, short, visible

AMOUNTS = {
    0: "0", 41: "41", 4.5: "4.50", 99.994: "99.99", 12_300.4: "12,300", -63: "−63", 10_000_000: "10 m", 1_234_567: "1.23 m",
    0.05: "0.05", 0.00012: "0.00012", 1.6e-5: "0.000016", 0.001: "0.001", 1.6e-9: "1.6 × 10⁻⁹", -2e300: "−2 × 10³⁰⁰",
    math.inf: "unknown", math.nan: "unknown",
}  # fmt: skip


@pytest.mark.parametrize(("number", "words"), AMOUNTS.items())
def test_amounts_are_short_and_without_e_notation(number: float, words: str) -> None:
    """Two decimals at most, words for what is large, powers of ten for what no one would count."""
    assert amount(number).replace("\u00a0", " ") == words


def test_a_unit_stands_where_people_write_it() -> None:
    """Money has it before, after the sign; percent behind."""
    assert (amount(-63.2, "€"), amount(41, "%")) == ("−€63.20", "41\u00a0%")


def test_percentages_of_a_column_have_one_decimal() -> None:
    """But for none and all; floating point does not show."""
    shares = (0, 1, 84 / 300, 0.23, 0.0001, 0.99999)
    shown = [percent(share).replace("\u00a0", " ") for share in shares]
    assert shown == ["0 %", "100 %", "28.0 %", "23.0 %", "under 0.1 %", "over 99.9 %"]


def test_what_nobody_would_see_is_marked() -> None:
    """Blanks at the ends and doubled ones; marks of direction are gone, joiners of emoji stay."""
    assert visible(" Paid  social") == "␣Paid␣␣social"
    assert visible("\u202egnp.exe") == "gnp.exe"
    assert visible("a\tb\u200d") == "a b\u200d"
    assert (short("abcdef", 4), short("abc", 4)) == ("abc…", "abc")


def test_bins_have_round_edges_and_never_part_a_whole_number() -> None:
    """Each whole number has its own column where there are few, and the last one too."""
    assert round_bins(1, 9, whole=True) == list(range(1, 11))
    assert round_bins(0, 299, whole=True) == [20.0 * n for n in range(16)]
    assert round_bins(6_824, 129_000)[:2] == [0, 10_000]
    assert round_bins(5, 5) == [5, 6]
    for low, high in ((-1e300, 1e300), (1e-9, 3e-9), (-161.2, 49.5), (0.1, 0.3)):
        edges = round_bins(low, high)
        assert edges[0] <= low * (1 - 1e-9 * math.copysign(1, low)) or math.isclose(edges[0], low)
        assert edges[-1] >= high or math.isclose(edges[-1], high)
        assert len(edges) <= 23
