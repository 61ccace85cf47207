"""Three brokers and two controllers for every test, since every test breaks some of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cluster_view import zookeeper_at
from tests.support.replicated import Replicated
from tests.support.services import Services


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    """Further settings of the brokers: `@pytest.mark.parametrize("settings", [{...}], indirect=True)`."""
    given: Any = getattr(request, "param", {})
    return dict(given)


@pytest.fixture
def cluster(services: Services, settings: dict[str, str]) -> Iterator[Replicated]:
    services.common = {"zookeeper.session.timeout.ms": "6000", **services.common}
    for id in (0, 1):
        services.start("controller", id)
    brokers = {id: services.start("broker", id, **settings) for id in (1, 2, 3)}
    with zookeeper_at(services.zookeeper) as zk:
        for service in services.all:
            service.wait_ready()
        yield Replicated(brokers, zk)
