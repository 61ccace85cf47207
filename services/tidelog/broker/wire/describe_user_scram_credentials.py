"""DescribeUserScramCredentials (50), served in version 0.

- v0: which mechanisms users have credentials for, with the iterations of each; those named, or all.

The credentials themselves are never told. Works on any broker.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.scram_entries import scram_iterations
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.broker.shell.config_store import ConfigStore


def served(configs: ConfigStore) -> ServedApi:
    return ServedApi(DESCRIBE_USER_SCRAM_CREDENTIALS, parse_versions("0"), partial(_answer, configs))


async def _answer(
    configs: ConfigStore, _: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    try:
        stored = await configs.read_users()
    except KafkaError as refusal:
        return DescribeUserScramCredentialsResponse(error_code=refusal.code, error_message=refusal.message)
    if not request.users:
        results = [_result(user, entries) for user, entries in stored.items() if scram_iterations(entries)]
    else:
        asked = Counter(user.name for user in request.users)
        results = [
            _refused(user, KafkaCode.DUPLICATE_RESOURCE) if times > 1 else _result(user, stored.get(user, {}))
            for user, times in asked.items()
        ]
    return DescribeUserScramCredentialsResponse(results=results)


def _result(user: str, entries: Mapping[str, str]) -> DescribeUserScramCredentialsResult:
    found = scram_iterations(entries)
    if not found:
        return _refused(user, KafkaCode.RESOURCE_NOT_FOUND)
    infos = [CredentialInfo(mechanism=mechanism, iterations=iterations) for mechanism, iterations in found.items()]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)


def _refused(user: str, code: KafkaCode) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=user, error_code=code, error_message=KafkaError(code).message)
