"""`tidelog metadata`."""

from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.metadata.shell.process import serve
from tidelog.runtime.lifecycle import run_service


def main(argv: list[str]) -> int:
    return run_service("metadata", MetadataConfig, serve, argv)
