"""Every message in every version against kio: the same bytes for the same values, in both directions."""

from collections.abc import Sequence
from random import Random

import pytest

from tests.support.kio_oracle import assert_same, kio_bytes, kio_read, kio_type, known_apis, random_entity
from tidelog.kafka.wire.schema import Message

CASES = [
    (message, version)
    for api in known_apis()
    for message in (api.request, api.response)
    for version in range(api.versions.low, api.versions.high + 1)
]
# The oldest versions, which kio no longer knows, are laid out by hand in test_old_versions.
KNOWN_TO_KIO = [(message, version) for message, version in CASES if kio_type(message, version) is not None]


def names(cases: Sequence[tuple[type[Message], int]]) -> list[str]:
    return [f"{message.__name__}-v{version}" for message, version in cases]


@pytest.mark.parametrize(("message", "version"), KNOWN_TO_KIO, ids=names(KNOWN_TO_KIO))
def test_kio_and_we_agree_on_every_byte(message: type[Message], version: int) -> None:
    theirs_type = kio_type(message, version)
    random = Random(f"{message.__name__} {version}")
    for _ in range(25):
        theirs = random_entity(theirs_type, random)
        data = kio_bytes(theirs)
        ours = message.decode(version, data)
        assert_same(ours, theirs)
        assert ours.encode(version) == data
        assert kio_read(theirs_type, ours.encode(version)) == (theirs, len(data))


@pytest.mark.parametrize(("message", "version"), CASES, ids=names(CASES))
def test_a_default_message_comes_back_as_it_was(message: type[Message], version: int) -> None:
    assert message.decode(version, message().encode(version)) == message()
