"""Settings of what a broker remembers about producers."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import BOOLEAN, INT
from tidelog.kafka.configs.setting import CLUSTER_WIDE, LOW, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ProducerStateSettings:
    """How long idempotent producers are remembered, and whether transactional writes are verified."""

    __slots__ = ()

    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        INT,
        86400000,
        at_least(1),
        "How long a partition remembers a producer that is silent.",
        importance=LOW,
        update=CLUSTER_WIDE,
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        INT,
        600000,
        at_least(1),
        "How often such producers are looked for.",
        importance=LOW,
    )
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable",
        BOOLEAN,
        default=True,
        doc="Whether a transactional write is checked against the coordinator's list of partitions.",
        importance=LOW,
        update=CLUSTER_WIDE,
    )
