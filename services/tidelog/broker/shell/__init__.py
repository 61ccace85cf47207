"""What a broker does: sockets, ZooKeeper and disk around its core."""
