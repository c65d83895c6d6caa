"""The fused graph with its votes as the text of an SVG file."""

from __future__ import annotations

from consilience.fusion.fusion_record import Fusion
from consilience.show.svg_numbered import Numbered, svg_numbered

__all__ = ["svg_fusion"]


def svg_fusion(fusion: Fusion, *, title: str | None = None) -> str:
    """The fused graph as the text of an SVG file; every arc has its votes beside it.

    Parameters
    ----------
    fusion
        What :func:`consilience.fuse` gives.
    title
        A line above the picture.
    """
    most = max(len(fusion.sources), 1)
    return svg_numbered(
        fusion.dag,
        {
            arc: Numbered(fusion.votes[arc] / most, f"{fusion.votes[arc]:.3g}")
            for arc in fusion.dag.arcs
        },
        kind="Fused graph",
        words=f"votes of {len(fusion.sources)} sources; threshold {fusion.threshold:.3g}",
        title=title,
    )
