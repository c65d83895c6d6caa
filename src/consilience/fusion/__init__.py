"""Fusion: graphs of many sources by vote, and parameters by pooling what the sources say."""
