"""TxnOffsetCommit (28), served in versions 0 to 4.

- v0: offsets of a group that count once a transaction is committed.  v1: throttled clients are answered at once.
- v2: leader epochs.  v3: flexible; member and generation, which are checked.  v4: the same.

Passed on to the coordinator that owns the group's shard, as JoinGroup is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.coordination.keys import second_key
from tidelog.kafka.wire.messages.txn_offset_commit import TXN_OFFSET_COMMIT
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(TXN_OFFSET_COMMIT, parse_versions("0-4"), by_group(relay, TXN_OFFSET_COMMIT, second_key))
