"""What a broker answers about authentication, credentials and access control, without a socket."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.served_api import ask
from tidelog.broker.wire import (
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_acls,
    describe_user_scram_credentials,
    sasl_authenticate,
    sasl_handshake,
)
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tidelog.kafka.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tidelog.kafka.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tidelog.kafka.wire.messages.describe_acls import DescribeAclsRequest
from tidelog.kafka.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from tidelog.kafka.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tidelog.kafka.wire.messages.sasl_handshake import SaslHandshakeRequest

NONE, NOT_FOUND = KafkaCode.NONE, KafkaCode.RESOURCE_NOT_FOUND
SHA_256, SHA_512 = 1, 2


class Users:
    """What a ConfigStore does about users, without ZooKeeper."""

    def __init__(self) -> None:
        self.stored: dict[str, Mapping[str, str]] = {}
        self.refusal: KafkaError | None = None

    async def change_user(self, user: str, decide: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.stored[user] = decide(self.stored.get(user, {}))

    async def read_users(self) -> dict[str, Mapping[str, str]]:
        if self.refusal is not None:
            raise self.refusal
        return self.stored


@pytest.fixture
def users() -> Any:
    return Users()


def alter(users: Any, *changes: ScramCredentialDeletion | ScramCredentialUpsertion) -> list[tuple[str, int]]:
    request = AlterUserScramCredentialsRequest(
        deletions=[one for one in changes if isinstance(one, ScramCredentialDeletion)],
        upsertions=[one for one in changes if isinstance(one, ScramCredentialUpsertion)],
    )
    answer = ask(alter_user_scram_credentials.served(users), 0, request)
    return sorted((result.user, result.error_code) for result in answer.results)


def describe(users: Any, *names: str) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] or None)
    answer = ask(describe_user_scram_credentials.served(users), 0, request)
    assert answer.error_code == NONE
    return {
        result.user: (result.error_code, [(info.mechanism, info.iterations) for info in result.credential_infos])
        for result in answer.results
    }


def upsertion(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=b"p"
    )


def deletion(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def test_credentials_are_set_told_and_removed(users: Any) -> None:
    users.stored["bob"] = {"producer_byte_rate": "5"}
    assert alter(users, upsertion("alice"), upsertion("alice", SHA_512, 8192)) == [("alice", NONE)]
    assert describe(users) == {"alice": (NONE, [(SHA_256, 4096), (SHA_512, 8192)])}, "bob has none"
    assert describe(users, "alice", "bob", "carl") == {
        "alice": (NONE, [(SHA_256, 4096), (SHA_512, 8192)]),
        "bob": (NOT_FOUND, []),
        "carl": (NOT_FOUND, []),
    }
    assert describe(users, "alice", "alice") == {"alice": (KafkaCode.DUPLICATE_RESOURCE, [])}
    assert alter(users, deletion("alice"), deletion("bob")) == [("alice", NONE), ("bob", NOT_FOUND)]
    assert describe(users) == {"alice": (NONE, [(SHA_512, 8192)])}
    assert users.stored["bob"] == {"producer_byte_rate": "5"}


def test_one_bad_change_keeps_all_of_its_user_and_none_of_others(users: Any) -> None:
    results = alter(users, upsertion("alice"), upsertion("alice", SHA_512, 1), upsertion("bob"))
    assert results == [("alice", KafkaCode.UNACCEPTABLE_CREDENTIAL), ("bob", NONE)]
    assert users.stored.keys() == {"bob"}


def test_a_store_that_does_not_answer(users: Any) -> None:
    users.refusal = KafkaError(KafkaCode.REQUEST_TIMED_OUT)
    assert alter(users, upsertion("alice")) == [("alice", KafkaCode.REQUEST_TIMED_OUT)]
    answer = ask(describe_user_scram_credentials.served(users), 0, DescribeUserScramCredentialsRequest(users=None))
    assert answer.error_code == KafkaCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("version", range(4))
def test_there_is_no_access_control(version: int) -> None:
    off = KafkaCode.SECURITY_DISABLED
    assert ask(describe_acls.served(), version, DescribeAclsRequest()).error_code == off
    created = ask(create_acls.served(), version, CreateAclsRequest(creations=[AclCreation(), AclCreation()]))
    assert [result.error_code for result in created.results] == [off, off]
    deleted = ask(delete_acls.served(), version, DeleteAclsRequest(filters=[DeleteAclsFilter()]))
    assert [result.error_code for result in deleted.filter_results] == [off]


def test_a_plain_listener_authenticates_nobody() -> None:
    for version in range(2):
        answer = ask(sasl_handshake.served(), version, SaslHandshakeRequest(mechanism="PLAIN"))
        assert (answer.error_code, answer.mechanisms) == (KafkaCode.ILLEGAL_SASL_STATE, [])
    for version in range(3):
        answer = ask(sasl_authenticate.served(), version, SaslAuthenticateRequest(auth_bytes=b"\0u\0p"))
        assert answer.error_code == KafkaCode.ILLEGAL_SASL_STATE
