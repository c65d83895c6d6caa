"""Networks and graphs made visible: text for a terminal, SVG, matplotlib."""

from consilience.show.calibration import plot_calibration
from consilience.show.layout import Box, Layout, layout
from consilience.show.plot import plot_graph, plot_sources
from consilience.show.svg import svg
from consilience.show.text import describe_network, outline, table_text

__all__ = [
    "Box",
    "Layout",
    "describe_network",
    "layout",
    "outline",
    "plot_calibration",
    "plot_graph",
    "plot_sources",
    "svg",
    "table_text",
]
