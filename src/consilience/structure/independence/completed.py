r"""Tests of rows with gaps by expected counts.

A network that was fitted to the rows (by EM, say) gives each row a posterior over what is missing
in it. The counts and moments that this lets expect take the place of those of complete rows, so
that no row is left out. They are taken at face value: a test that rests on many completed values
rejects more often than it says, since the network has seen them already.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from consilience.errors import InputError
from consilience.inference.filled_rows import filled_rows
from consilience.network.network import Network
from consilience.statistics.engines.memory import Memory
from consilience.structure.independence.asked_rows import AskedRows
from consilience.structure.independence.contingency import GSquare
from consilience.structure.independence.statements import PartTest, Statements, Verdicts, check_part

__all__ = ["Completed"]


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """A test by the counts and moments that a network lets expect of rows with gaps.

    Parameters
    ----------
    network
        A network with all variables of the rows, whose parameters were fitted to them.
    of
        The test.

    Examples
    --------
    >>> import consilience as cs
    >>> table = cs.read({"x": list("aabb") * 5, "y": ["a", None, "b", "b"] * 5})
    >>> net = cs.fit(cs.DAG([("x", "y")]), table, cs.MLE())
    >>> cs.independence.test(table, "x", "y").n_rows
    15.0
    >>> cs.independence.test(table, "x", "y", by=cs.independence.Completed(net)).n_rows
    20.0
    """

    network: Network
    of: PartTest = field(default_factory=GSquare)

    def __post_init__(self) -> None:
        if not isinstance(self.network, Network):
            raise InputError(
                "Completed: network must be a Network, such as cs.fit(...) gives, got "
                f"{self.network!r}.",
                parameter="network",
            )
        check_part("Completed", self.of)

    @property
    def alpha(self) -> float:
        """That of the test."""
        return self.of.alpha

    def judge(self, rows: AskedRows, asked: Statements) -> Verdicts:
        """The answers on completed rows."""
        return self.of.judge(self.rows(rows), asked)

    def rows(self, rows: AskedRows) -> AskedRows:
        """The rows, completed."""
        if not isinstance(rows.engine, Memory):
            raise InputError(
                f"Completed needs a table in memory, got a {type(rows.engine).__name__}.",
                parameter="rows",
            )
        filled = filled_rows(self.network, rows.engine.table, memory_limit=rows.memory_limit)
        return AskedRows(filled, rows.names, memory_limit=rows.memory_limit)
