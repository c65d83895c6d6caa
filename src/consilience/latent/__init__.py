"""Hidden variables: latent classes, numbers of hidden states, influence between models."""
