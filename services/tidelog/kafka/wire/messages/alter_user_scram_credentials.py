"""AlterUserScramCredentials (51): set or remove SCRAM credentials."""

from tidelog.kafka.wire.fields import array, byte_string, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ALTER_USER_SCRAM_CREDENTIALS = Api(51, "AlterUserScramCredentials", versions="0", flexible="0+")


class ScramCredentialDeletion(Struct):
    name: str = string()
    mechanism: int = int8()


class ScramCredentialUpsertion(Struct):
    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = byte_string()
    salted_password: bytes = byte_string()


class AlterUserScramCredentialsRequest(Request["AlterUserScramCredentialsResponse"], api=ALTER_USER_SCRAM_CREDENTIALS):
    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class AlterUserScramCredentialsResponse(Response, api=ALTER_USER_SCRAM_CREDENTIALS):
    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
