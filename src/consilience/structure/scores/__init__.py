"""Scores: how well a family fits the rows. ``consilience.scores`` lists them."""
