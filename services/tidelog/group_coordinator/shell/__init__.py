"""What a group-coordinator does: ZooKeeper and gRPC."""
