"""What an analysis says to a person: the words for it, and the page."""
