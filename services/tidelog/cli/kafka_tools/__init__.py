"""Kafka's own command lines: their flags, their output, one file a tool."""
