"""Three brokers, two controllers and two coordinators for every test, since most tests break some of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cluster_view import zookeeper_at
from tests.support.coordinated import PARTITIONS, Coordinated
from tests.support.services import Services


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Further settings of the coordinators: `@pytest.mark.parametrize("settings", [{...}], indirect=True)`."""
    given: Any = getattr(request, "param", {})
    return dict(given)


@pytest.fixture
def cluster(services: Services, settings: dict[str, str]) -> Iterator[Coordinated]:
    services.common = {"zookeeper.session.timeout.ms": "6000"}
    internal = {
        "offsets_topic_num_partitions": str(PARTITIONS),
        "transaction_state_log_num_partitions": str(PARTITIONS),
    }
    for id in (0, 1):
        services.start("controller", id)
    brokers = {id: services.start("broker", id, **internal) for id in (1, 2, 3)}
    coordinators = {
        id: services.start("group-coordinator", id, group_initial_rebalance_delay_ms="0", **internal, **settings)
        for id in (7, 8)
    }
    with zookeeper_at(services.zookeeper) as zk:
        for service in services.all:
            service.wait_ready()
        yield Coordinated(brokers, coordinators, zk)
