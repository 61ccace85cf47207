"""The metadata service: the cluster as a read model, over gRPC and REST."""
