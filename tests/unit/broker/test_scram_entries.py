"""SCRAM credentials among a user's entries."""

from hashlib import pbkdf2_hmac

import pytest

from tidelog.broker.core.scram_entries import (
    ScramChange,
    ScramCredential,
    ScramMechanism,
    altered_credentials,
    check_scram_changes,
    scram_iterations,
)
from tidelog.kafka.errors import KafkaCode, KafkaError

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def setting(mechanism: int = SHA_256, iterations: int = 4096, user: str = "alice") -> ScramChange:
    return ScramChange(user, mechanism, b"salt", b"salted password", iterations)


def removal(mechanism: int = SHA_256, user: str = "alice") -> ScramChange:
    return ScramChange(user, mechanism)


def test_the_keys_are_those_of_the_rfc() -> None:
    """The example of RFC 7677: what its client proof and server signature are made from."""
    salt = b"[m\x99h\x9d\x12\x35\x8e\xec\xa0\x4b\x14\x12\x36\xfa\x81"
    salted = pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    credential = ScramCredential.of(SHA_256, salt, salted, 4096)
    assert str(credential) == (
        "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
        "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
    )
    assert ScramCredential.parse(str(credential)) == credential


def test_credentials_are_set_and_removed_beside_what_else_is_stored() -> None:
    entries = altered_credentials([setting(SHA_256, 4096), setting(SHA_512, 8192)], {"producer_byte_rate": "5"})
    assert entries.keys() == {"producer_byte_rate", "SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert scram_iterations(entries) == {SHA_256: 4096, SHA_512: 8192}
    left = altered_credentials([removal(SHA_256)], entries)
    assert scram_iterations(left) == {SHA_512: 8192}
    assert altered_credentials([removal(SHA_512)], left) == {"producer_byte_rate": "5"}


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KafkaError) as refusal:
        altered_credentials([removal()], {})
    assert refusal.value.code is KafkaCode.RESOURCE_NOT_FOUND


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([setting(user="")], KafkaCode.UNACCEPTABLE_CREDENTIAL),
        ([setting(iterations=4095)], KafkaCode.UNACCEPTABLE_CREDENTIAL),
        ([setting(iterations=16385)], KafkaCode.UNACCEPTABLE_CREDENTIAL),
        ([setting(0)], KafkaCode.UNSUPPORTED_SASL_MECHANISM),
        ([removal(3)], KafkaCode.UNSUPPORTED_SASL_MECHANISM),
        ([setting(), removal()], KafkaCode.DUPLICATE_RESOURCE),
        ([removal(), removal()], KafkaCode.DUPLICATE_RESOURCE),
    ],
)
def test_changes_that_are_refused(changes: list[ScramChange], code: KafkaCode) -> None:
    with pytest.raises(KafkaError) as refusal:
        check_scram_changes(changes)
    assert refusal.value.code is code


@pytest.mark.parametrize("text", ["", "salt", "salt=YQ==", "salt=?,stored_key=YQ==,server_key=YQ==,iterations=1"])
def test_a_credential_that_cannot_be_read_is_none(text: str) -> None:
    assert scram_iterations({"SCRAM-SHA-256": text}) == {}
