"""Kafka's language: error codes, ids, settings, records and wire messages, without any IO."""
