"""`tidelog group-coordinator`."""

from tidelog.group_coordinator.shell.process import serve
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.runtime.lifecycle import run_service


def main(argv: list[str]) -> int:
    return run_service("group-coordinator", GroupCoordinatorConfig, serve, argv)
