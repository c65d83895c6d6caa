"""The explorer: a page on which a network is looked at and asked."""
