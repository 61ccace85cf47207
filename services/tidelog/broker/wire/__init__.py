"""The Kafka wire as a broker serves it: one file an API key, and the dispatch between them."""
