"""Settings under Kafka's names: each declared once, with its type, default, bounds and words."""
