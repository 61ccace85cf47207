"""EndTxn (26), served in versions 0 to 4.

- v0: a transaction is committed or aborted.  v1: throttled clients are answered at once.  v2: error 90.
- v3: flexible.  v4: the same.

Passed on to the coordinator that owns the shard of the transactional id, as AddPartitionsToTxn is. v5, which
gives the producer a new epoch with each transaction, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_transactional_id
from tidelog.kafka.wire.messages.end_txn import END_TXN
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(END_TXN, parse_versions("0-4"), by_transactional_id(relay, END_TXN))
