"""Searches for a graph. ``consilience.searches`` lists them."""
