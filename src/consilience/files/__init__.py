"""Networks in files: JSON, BIF, XMLBIF, XDSL and NET."""

from consilience.files.registry import load, save

__all__ = ["load", "save"]
