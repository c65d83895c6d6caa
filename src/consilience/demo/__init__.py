"""An example that comes with the library: one clinical question, five unequal hospitals."""

from consilience.demo.everyday import warm_up
from consilience.demo.hospitals import make_hospitals, save_hospitals, true_network
from consilience.demo.story import tell

__all__ = ["make_hospitals", "save_hospitals", "tell", "true_network", "warm_up"]
