"""Every error the library raises.

::

    ConsilienceError
    ├── InputError (ValueError)            an argument cannot be used
    │   ├── DataError                      rows, columns, states or sources of a table
    │   │   └── PrecisionError             too few digits of a statistic are left
    │   ├── GraphError                     cycles, unknown or repeated nodes
    │   ├── ModelError                     a network or a local distribution
    │   │   └── TooDearError               an exact answer would take too long; a bound would not
    │   ├── ImpossibleEvidenceError        what is given has probability zero
    │   ├── RefusalError                   a site's policy or ledger refuses what is asked of it
    │   └── FormatError                    the text of a file
    ├── UnknownNameError (KeyError)        a name that nothing has
    ├── MissingFileError (FileNotFoundError)  a file to be read, or the folder of one to be written
    ├── WriteError (OSError)               a file cannot be written; the old one is as it was
    ├── SiteError (ConnectionError)        a site is lost, late, or its reply cannot be used
    ├── MemoryLimitError (MemoryError)     refused before anything was allocated
    │   └── WithheldError                  statistics that a site does not give
    ├── WorkerError (RuntimeError)         workers of an engine died, or lost a part of the rows
    └── MissingExtraError (ImportError)    an optional dependency is not installed

The message says what is wrong and what would be accepted; the culprits are attributes too,
collected in ``culprits``, so that a program need not read the message:
``error.culprits["column"]``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConsilienceError",
    "DataError",
    "FormatError",
    "GraphError",
    "ImpossibleEvidenceError",
    "InputError",
    "MemoryLimitError",
    "MissingExtraError",
    "MissingFileError",
    "ModelError",
    "PrecisionError",
    "RefusalError",
    "SiteError",
    "TooDearError",
    "UnknownNameError",
    "WithheldError",
    "WorkerError",
    "WriteError",
]


class ConsilienceError(Exception):
    """Root of all errors of this library."""

    def __init__(self, message: str, **culprits: Any) -> None:
        super().__init__(message)
        self.message = message
        self.culprits = culprits

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.culprits)


class InputError(ConsilienceError, ValueError):
    """An argument has a value that cannot be used."""


class DataError(InputError):
    """A table cannot be read or built as asked."""


class PrecisionError(DataError):
    """Columns are so nearly functions of each other that too few digits of a statistic are left."""


class GraphError(InputError):
    """A set of arcs is not the graph that was asked for."""


class ModelError(InputError):
    """A network or one of its local distributions is not valid."""


class TooDearError(ModelError):
    """An exact answer would take too long, where an approximate one would not."""


class ImpossibleEvidenceError(InputError):
    """What is given has probability zero under the network."""


class RefusalError(InputError):
    """A site's policy or ledger refuses what is asked of it."""


class FormatError(InputError):
    """The text of a file does not follow its format."""


class UnknownNameError(ConsilienceError, KeyError):
    """A variable, state, source or node of that name does not exist."""


class MissingFileError(ConsilienceError, FileNotFoundError):
    """A file to be read, or the folder of one to be written, does not exist."""


class WriteError(ConsilienceError, OSError):
    """A file cannot be written; what it held before is as it was. ``errno`` is the system's."""

    def __init__(self, message: str, **culprits: Any) -> None:
        super().__init__(message, **culprits)
        self.errno = culprits.get("errno")


class MemoryLimitError(ConsilienceError, MemoryError):
    """A table would be larger than the stated limit; nothing was allocated."""


class WorkerError(ConsilienceError, RuntimeError):
    """Workers of an engine died, or lost a part of the rows."""


class WithheldError(MemoryLimitError):
    """Statistics that a site does not give; a search goes on without them and says so."""


class SiteError(ConsilienceError, ConnectionError):
    """A site is lost or late, or its reply cannot be used; nothing of the round was taken in."""


class MissingExtraError(ConsilienceError, ImportError):
    """An optional dependency is needed and not installed."""


def _rebuild(
    kind: type[ConsilienceError], message: str, culprits: dict[str, Any]
) -> ConsilienceError:
    return kind(message, **culprits)
