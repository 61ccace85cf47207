"""The id and epoch of an idempotent producer, from any broker."""

from tidelog.client.shell.client import Client
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest

# Only a transactional id has a transaction to time out; Kafka's own client sends this in its place.
_NO_TIMEOUT = 2**31 - 1


async def fetch_identity(client: Client, timeout_ms: int) -> tuple[int, int]:
    """Ask until there is an answer."""

    async def ask() -> tuple[int, int]:
        link = await client.any_broker()
        answer = await link.call(InitProducerIdRequest(transaction_timeout_ms=_NO_TIMEOUT))
        if answer.error_code:
            raise KafkaError(KafkaCode(answer.error_code))
        return answer.producer_id, answer.producer_epoch

    return await client.insist(ask, timeout_ms)
