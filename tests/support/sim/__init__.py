"""A whole cluster in one thread: the real processes on simulated time, network, disks and ZooKeeper."""
