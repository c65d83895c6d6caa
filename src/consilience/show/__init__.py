"""Networks and graphs made visible: text for a terminal, SVG, matplotlib."""

from consilience.show.belief import plot_belief
from consilience.show.calibration import plot_calibration
from consilience.show.evaluation import (
    plot_calibration_curves,
    plot_estimators,
    plot_evaluated_sources,
    plot_learning_curve,
)
from consilience.show.layout import Box, Layout, layout
from consilience.show.plot import plot_graph, plot_sources
from consilience.show.plot_pair import plot_pair
from consilience.show.svg import svg
from consilience.show.svg_pair import svg_pair
from consilience.show.text import describe_network, outline, table_text
from consilience.show.trace import plot_trace
from consilience.show.votes import plot_fusion, plot_thresholds, plot_votes

__all__ = [
    "Box",
    "Layout",
    "describe_network",
    "layout",
    "outline",
    "plot_belief",
    "plot_calibration",
    "plot_calibration_curves",
    "plot_estimators",
    "plot_evaluated_sources",
    "plot_fusion",
    "plot_graph",
    "plot_learning_curve",
    "plot_pair",
    "plot_sources",
    "plot_thresholds",
    "plot_trace",
    "plot_votes",
    "svg",
    "svg_pair",
    "table_text",
]
