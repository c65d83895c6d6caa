"""Networks: the noun itself, its story, and the answer to a query."""

from consilience.network.factor import Factor
from consilience.network.network import Network
from consilience.network.record import Record

__all__ = ["Factor", "Network", "Record"]
