"""What the controller does: ZooKeeper, gRPC and timers around the core. Decides nothing."""
