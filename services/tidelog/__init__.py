"""Tidelog: a Kafka-compatible log cluster, made of small services that coordinate through ZooKeeper."""
