"""The command line, a thin face over the public interface; one file a command."""

from consilience.cli.group import main

__all__ = ["main"]
