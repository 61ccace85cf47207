"""How the metadata service hears of the cluster and answers over gRPC."""
