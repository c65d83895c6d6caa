"""An example that comes with the library: one clinical question, five unequal hospitals."""

from consilience.demo.hospitals import make_hospitals, true_network

__all__ = ["make_hospitals", "true_network"]
