"""Compiled loops, one module for each group that calls each other."""
