import pytest

from tests.support.group_driver import GroupDriver, GroupScene


@pytest.fixture
def driver() -> GroupDriver:
    return GroupDriver()


@pytest.fixture
def group(driver: GroupDriver) -> GroupScene:
    return GroupScene(driver)
