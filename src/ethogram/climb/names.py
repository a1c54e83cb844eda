"""The names of the signals of a conversation. Nothing else, since the settings need only these."""

SIGNALS = (
    "keywords", "request", "vehicle", "disguise", "ladder", "query_pattern", "after_refusal", "topic_return",
    "resampling", "split_request", "meaning", "standing", "drift", "topic_jump", "trajectory", "accumulation",
    "intent", "typing_speed", "response_time", "question_style", "topic_switching", "refusal", "compliance",
)  # fmt: skip
"""Every signal there is."""
