"""Settings of an admin client."""

from dataclasses import dataclass

from tidelog.client.configs.client import ClientConfig
from tidelog.kafka.configs.checks import at_least, between
from tidelog.kafka.configs.kinds import INT
from tidelog.kafka.configs.setting import setting

_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(ClientConfig):
    """How long an admin client insists."""

    default_api_timeout_ms: int = setting(
        "default.api.timeout.ms", INT, 60_000, at_least(0), "How long a call may take, retries included."
    )
    retries: int = setting("retries", INT, _INT_MAX, between(0, _INT_MAX), "How often a failed request is repeated.")
