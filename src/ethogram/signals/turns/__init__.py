"""What the readings of conversations are worked out with."""
