"""The broker: owns partition logs, replicates them, and serves Kafka clients."""
