"""The words of every answer about access control, which is not there."""

from __future__ import annotations

from typing import Final

from tidelog.kafka.errors import KafkaCode

CODE: Final = KafkaCode.SECURITY_DISABLED
MESSAGE: Final = "There is no authorizer: everybody may do everything."
