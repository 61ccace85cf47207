"""The pytest plugin. It is imported in every test run of an environment that has Tidelog, so it imports next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.testing.cluster import TidelogCluster


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidelog", "a Tidelog cluster for tests")
    group.addoption(
        "--tidelog-zookeeper",
        metavar="HOST:PORT",
        default=None,
        help="Use this ZooKeeper, under a chroot of its own for the session, instead of starting one.",
    )
    group.addoption("--tidelog-brokers", type=int, metavar="N", default=1, help="How many brokers (default: 1).")
    parser.addini("tidelog_settings", "Settings of every process, one KEY=VALUE a line.", type="linelist", default=[])


@pytest.fixture(scope="session")
def tidelog_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TidelogCluster]:
    """A real cluster, one for the session: brokers, a controller, a group coordinator, ZooKeeper."""
    from tidelog.testing.cluster import TidelogCluster

    cluster = TidelogCluster(
        tmp_path_factory.mktemp("tidelog"),
        brokers=request.config.getoption("--tidelog-brokers"),
        zookeeper=request.config.getoption("--tidelog-zookeeper"),
        settings=request.config.getini("tidelog_settings"),
    )
    cluster.up()
    yield cluster
    cluster.down()
