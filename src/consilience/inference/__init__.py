"""From a network and evidence to beliefs, samples and numbers about it."""

from consilience.inference.batch import log_likelihood, posteriors
from consilience.inference.choices import Exact
from consilience.inference.divergence import entropy, kl_divergence
from consilience.inference.evidence import Likelihood, Soft
from consilience.inference.expectation import expected_counts
from consilience.inference.explanations import Explanation, map_states, most_probable, mpe
from consilience.inference.queries import cost, joint, log_probability, marginals, query
from consilience.inference.sampling import sample

__all__ = [
    "Exact",
    "Explanation",
    "Likelihood",
    "Soft",
    "cost",
    "entropy",
    "expected_counts",
    "joint",
    "kl_divergence",
    "log_likelihood",
    "log_probability",
    "map_states",
    "marginals",
    "most_probable",
    "mpe",
    "posteriors",
    "query",
    "sample",
]
