"""Builds the container images, also on a machine that can pull none."""
