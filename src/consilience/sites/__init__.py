"""Learning over sites that keep their rows: protocol, policies, secure sums, transports."""

from consilience import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
