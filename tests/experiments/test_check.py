from __future__ import annotations

import check


def test_every_experiment_has_a_cell_whose_numbers_stand_on_its_page_once():
    assert check.without_cell() == []
    assert [cell.experiment for cell in check.CELLS if not cell.on_page()] == []


def test_the_picture_of_the_hierarchies_is_the_one_in_the_docs():
    assert check.hierarchies() == ["hierarchies.svg"]
