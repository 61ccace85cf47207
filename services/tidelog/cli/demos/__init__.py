"""Demonstrations: programs that use a cluster and show that it keeps its promises."""
