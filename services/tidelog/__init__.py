"""Tidelog: a Kafka-compatible log cluster, made of small services that coordinate through ZooKeeper."""

import os

# gRPC meddles with every fork of its process while its threads may be in the middle of a call, and then the child can die
# before it has become the program that was to be started: Spark's JVM, for instance, in a program that has a client of ours.
# Nobody here goes on with gRPC in a forked child. It is read when gRPC is imported, so it stands before all imports of it.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
