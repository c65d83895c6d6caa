"""Networks and graphs made visible: text for a terminal, SVG, matplotlib."""
