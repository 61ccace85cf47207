"""A container engine: the one at hand, or a dockerd of our own; without either the tests are skipped with the reason."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tools.images.__main__ import STATE
from tools.images.engine import Engine, engine

IMAGES = ("tidelog:0.1.0", "tidelog-zookeeper:0.1.0")


@pytest.fixture(scope="session")
def docker() -> Iterator[Engine]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(engine(STATE))
        except SystemExit as reason:
            pytest.skip(str(reason))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # The container that would clean up after us cannot be pulled everywhere; fixtures remove what they start.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        if found.host is not None:
            patch.setenv("DOCKER_HOST", found.host)
        missing = [image for image in IMAGES if not found.has(image)]
        if missing:
            pytest.skip(f"{', '.join(missing)} is not built: run `make image`")
        yield found
