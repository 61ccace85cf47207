"""ZooKeeper for Tidelog's processes: znode formats, one session, watches, registration and election."""
