"""Panels: questions about a network that are answered by a picture and a plain table."""
