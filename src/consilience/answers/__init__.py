"""What stands behind an answer: how sure it is, what moves it, and where sources differ."""
