"""AlterUserScramCredentials (51), served in version 0.

- v0: credentials of users set or removed, by mechanism.

Works on any broker. The credentials of a user change together or not at all. No listener asks for them yet.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.scram_entries import ScramChange, altered_credentials, check_scram_changes
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.alter_user_scram_credentials import (
    ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.config_store import ConfigStore


def served(configs: ConfigStore) -> ServedApi:
    return ServedApi(ALTER_USER_SCRAM_CREDENTIALS, parse_versions("0"), partial(_answer, configs))


async def _answer(
    configs: ConfigStore, _: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    results = []
    for user, changes in _by_user(request).items():
        result = AlterUserScramCredentialsResult(user=user)
        try:
            check_scram_changes(changes)
            await configs.change_user(user, partial(altered_credentials, changes))
        except KafkaError as refusal:
            result.error_code, result.error_message = refusal.code, refusal.message
        results.append(result)
    return AlterUserScramCredentialsResponse(results=results)


def _by_user(request: AlterUserScramCredentialsRequest) -> dict[str, list[ScramChange]]:
    changes = [ScramChange(one.name, one.mechanism) for one in request.deletions]
    changes += [
        ScramChange(one.name, one.mechanism, one.salt, one.salted_password, one.iterations)
        for one in request.upsertions
    ]
    by_user: dict[str, list[ScramChange]] = {}
    for change in changes:
        by_user.setdefault(change.user, []).append(change)
    return by_user
