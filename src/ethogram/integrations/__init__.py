"""Other people's tools: what they call, and what they are sent."""
