"""Incomplete data: EM, data augmentation, structural EM, variational Bayes, imputation."""
