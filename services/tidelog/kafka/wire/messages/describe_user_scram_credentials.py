"""DescribeUserScramCredentials (50): which SCRAM credentials users have."""

from tidelog.kafka.wire.fields import array, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_USER_SCRAM_CREDENTIALS = Api(50, "DescribeUserScramCredentials", versions="0", flexible="0+")


class UserName(Struct):
    name: str = string()


class DescribeUserScramCredentialsRequest(
    Request["DescribeUserScramCredentialsResponse"], api=DESCRIBE_USER_SCRAM_CREDENTIALS
):
    users: list[UserName] | None = array(UserName, nullable="0+")


class CredentialInfo(Struct):
    mechanism: int = int8()
    iterations: int = int32()


class DescribeUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


class DescribeUserScramCredentialsResponse(Response, api=DESCRIBE_USER_SCRAM_CREDENTIALS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
