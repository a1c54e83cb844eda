"""Makes the embedder `static` from a teacher, and a teacher for it from a model's weights."""
