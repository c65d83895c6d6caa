"""From a network to beliefs, samples and numbers about it."""

from consilience.inference.divergence import entropy, kl_divergence
from consilience.inference.elimination import joint
from consilience.inference.likelihood import log_likelihood
from consilience.inference.sampling import sample

__all__ = ["entropy", "joint", "kl_divergence", "log_likelihood", "sample"]
