"""Speed, beside peers that do the same work."""
