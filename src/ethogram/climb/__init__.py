"""Conversations that climb: the risk of a conversation, turn by turn. Pure: docs/climb.md."""
