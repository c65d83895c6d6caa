"""Compiled kernels on disk, for any number of processes at once.

numba numbers the files of a kernel by an index that it reads before it writes: of two processes
that compile different signatures at the same time, one can leave its code under the number of the
other, and one that is killed after an upgrade can leave the old code under the new number. Here a
file is named by what it holds and stands before the index names it, so that a name never leads to
other code; a race costs an entry of the index at most, which is compiled again. A cache that cannot
be read or written is as good as none.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from consilience.kernels.watching import compiling

__all__ = ["Files", "KernelCache"]

DIGEST = hashlib.sha256().digest_size


class Files(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the files of one kernel."""

    def save(self, key: Any, data: Any) -> None:
        """Write the file, then the index."""
        parts = repr((self._version, self._source_stamp, key))
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        name = f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except Exception:  # noqa: BLE001  # a damaged pickle can raise anything
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        """Write the code behind its digest."""
        packed = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(packed).digest() + packed)

    def _load_data(self, name: str) -> Any:
        """The code, if it is what was written."""
        content = Path(self._data_path(name)).read_bytes()
        digest, packed = content[:DIGEST], content[DIGEST:]
        if hashlib.sha256(packed).digest() != digest:
            raise OSError(f"{name} is damaged")
        return pickle.loads(packed)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel; nothing that goes wrong with it reaches the caller."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._cache_file = Files(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled kernel, or None, and it is said that it will be compiled."""
        found = None
        with suppress(Exception):  # whatever is wrong with it, it is compiled again
            found = super().load_overload(signature, context)
        if found is None:
            compiling(self._name)
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the compiled kernel if the disk takes it."""
        with suppress(OSError):
            super().save_overload(signature, compiled)
