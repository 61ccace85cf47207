"""The Kafka wire: message schemas in a notation of our own, and the codec that is compiled from them on first use."""
