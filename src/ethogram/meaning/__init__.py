"""What a turn is about and how near that is to harm: embedders, exemplars and the reader over them."""
