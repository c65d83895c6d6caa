"""Colours can be told apart: 4.5 for text and 3 for what carries meaning (WCAG 2)."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from consilience.show.picture import COLORS, STATE_COLORS
from consilience.show.svg_axes import BAR, CHART_STYLE, GREY, WARM
from consilience.show.svg_charts import Interval, interval_chart
from consilience.show.svg_heat import STRONGEST, Cell, heat_chart

WHITE, DARK = "#ffffff", "#14181f"
INKS = {WHITE: "#1f2937", DARK: "#e5e9f0"}


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def laid_on(color: str, ground: str, share: float) -> str:
    """The colour that is seen where one of them lies on the other with that opacity."""
    pairs = [(int(color[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", WHITE) == pytest.approx(21)
    assert contrast("#777777", WHITE) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "box"),
        ("ink", "source box"),
        ("ink", "highlight box"),
        ("faint ink", "box"),
        ("faint ink", "source box"),
        ("faint ink", "highlight box"),
        ("known", "box"),
    ],
)
def test_letters_can_be_read_on_their_box(ink, ground):
    assert contrast(COLORS[ink], COLORS[ground]) >= 4.5


def test_words_can_be_read_on_white_and_made_out_on_a_dark_page():
    assert contrast(COLORS["words"], WHITE) >= 4.5
    assert contrast(COLORS["words"], DARK) >= 3.5


@pytest.mark.parametrize("name", ["border", "arc", "source", "highlight", "hidden", "known", "bar"])
@pytest.mark.parametrize("page", [WHITE, DARK])
def test_lines_can_be_seen_on_light_and_dark_pages(name, page):
    assert contrast(COLORS[name], page) >= 3


def test_a_bar_can_be_told_from_its_ground():
    assert contrast(COLORS["bar"], COLORS["bar ground"]) >= 4.4
    assert contrast(COLORS["known"], COLORS["bar ground"]) >= 3


@pytest.mark.parametrize("color", [BAR, WARM, *STATE_COLORS[:2]])
@pytest.mark.parametrize("page", [WHITE, DARK])
def test_bars_of_charts_can_be_seen_on_light_and_dark_pages(color, page):
    assert contrast(color, page) >= 3


@pytest.mark.parametrize("color", [BAR, WARM])
@pytest.mark.parametrize("page", [WHITE, DARK])
def test_letters_can_be_read_in_the_darkest_cell_of_a_heat_map(color, page):
    cell = laid_on(color, laid_on(GREY, page, 0.12), STRONGEST)
    assert contrast(INKS[page], cell) >= 4.5
    drawn = heat_chart(["a"], ["b"], [[Cell(1.0, "9")]], label="cells").svg
    assert 'class="warm"' not in drawn  # cells have one colour on all pages


def test_intervals_have_the_full_colour_of_bars():
    drawn = interval_chart([Interval("a", 0.2, 0.4, 0.3)], label="intervals").svg
    line = drawn[drawn.index('class="line"') :].split("/>")[0]
    assert BAR in line
    assert "opacity" not in line


@pytest.mark.parametrize("page", [WHITE, DARK])
def test_bars_of_charts_can_be_told_from_their_ground_on_all_pages(page):
    assert contrast(BAR, laid_on(GREY, page, 0.22)) >= 3


def test_charts_of_the_page_have_its_colours():
    sheet = resources.files("consilience.show.explorer").joinpath("page/style.css").read_text()
    kinds = set(re.findall(r"\.chart \.([a-z]+)", CHART_STYLE))
    assert set(re.findall(r"\.chart \.([a-z]+) \{[^}]*var\(--", sheet)) == kinds
