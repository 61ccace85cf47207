"""`tidelog controller`."""

from tidelog.controller.shell.process import serve
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.runtime.lifecycle import run_service


def main(argv: list[str]) -> int:
    return run_service("controller", ControllerConfig, serve, argv)
