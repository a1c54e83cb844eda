"""Live input: `Watch`, growing files, streams, and events received by the service."""
