"""AddOffsetsToTxn (25), served in versions 0 to 4.

- v0: the offsets of a group join a producer's transaction.  v1: throttled clients are answered at once.  v2: error 90.
- v3: flexible.  v4: the same.

Passed on to the coordinator that owns the shard of the transactional id, as AddPartitionsToTxn is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_transactional_id
from tidelog.kafka.wire.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(ADD_OFFSETS_TO_TXN, parse_versions("0-4"), by_transactional_id(relay, ADD_OFFSETS_TO_TXN))
