"""What the SDK decides: batches, partitions, sequences, positions, membership. No sockets, no clock, no event loop."""
