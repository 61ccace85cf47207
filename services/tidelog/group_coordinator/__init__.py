"""The group-coordinator: consumer groups, committed offsets and transactions, in shards."""
