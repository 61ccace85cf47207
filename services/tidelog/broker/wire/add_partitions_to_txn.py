"""AddPartitionsToTxn (24), served in versions 0 to 3.

- v0: partitions join a producer's transaction.  v1: throttled clients are answered at once.  v2: error 90.
- v3: flexible.

Passed on to the coordinator that owns the shard of the transactional id, by the broker that leads the shard; others answer
error 16. The form of v4 on is what brokers ask coordinators, and is left out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_transactional_id
from tidelog.kafka.wire.messages.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(ADD_PARTITIONS_TO_TXN, parse_versions("0-3"), by_transactional_id(relay, ADD_PARTITIONS_TO_TXN))
