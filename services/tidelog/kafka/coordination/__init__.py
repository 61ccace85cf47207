"""What brokers and group coordinators both know about groups and transactions: where they live, and how to refuse."""
