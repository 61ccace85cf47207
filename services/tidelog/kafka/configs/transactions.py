"""Settings of transactions."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import INT
from tidelog.kafka.configs.setting import HIGH, LOW, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TransactionSettings:
    """The bounds on transactions and on how long their traces are kept."""

    __slots__ = ()

    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms",
        INT,
        900000,
        at_least(1),
        "The longest transaction timeout that a producer may ask for.",
        importance=HIGH,
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms",
        INT,
        604800000,
        at_least(1),
        "How long a transactional id without a transaction is remembered.",
        importance=HIGH,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        10000,
        at_least(1),
        "How often transactions past their timeout are looked for.",
        importance=LOW,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        3600000,
        at_least(1),
        "How often expired transactional ids are looked for.",
        importance=LOW,
    )
    transaction_state_log_load_buffer_size: int = setting(
        "transaction.state.log.load.buffer.size",
        INT,
        5242880,
        at_least(1),
        "How much is read at once while a shard of transactions is loaded.",
        importance=HIGH,
    )
