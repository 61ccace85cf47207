"""`tidelog broker`."""

from tidelog.broker.shell.process import serve
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.runtime.lifecycle import run_service


def main(argv: list[str]) -> int:
    return run_service("broker", BrokerConfig, serve, argv)
