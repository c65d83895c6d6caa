"""Colours can be told apart: 4.5 for text and 3 for what carries meaning (WCAG 2)."""

from __future__ import annotations

import pytest

from consilience.show.picture import COLORS, STATE_COLORS
from consilience.show.svg_axes import BAR, WARM

WHITE, DARK = "#ffffff", "#14181f"


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


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
