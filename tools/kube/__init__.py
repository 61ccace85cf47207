"""A real single-node Kubernetes out of plain processes, for machines that can pull no container images."""
