"""What the readings about a person's use of a service are worked out with."""
