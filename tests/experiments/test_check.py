from __future__ import annotations

import check


def test_the_page_has_a_line_for_every_cell():
    printed = check.PAGE.read_text(encoding="utf-8")
    assert [cell.what for cell in check.CELLS if cell.start not in printed] == []


def test_the_picture_of_the_hierarchies_is_the_one_in_the_docs():
    assert check.hierarchies() == "the same"
