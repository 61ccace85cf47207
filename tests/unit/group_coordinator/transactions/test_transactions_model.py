"""Random producers, crashes and losses: every transaction ends once, with one result, and nobody fenced changes anything."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.transaction_coordinator import Coordinator, all_written, cluster_view, marked, tp
from tidelog.group_coordinator.core.records import CoordinatorRecord, Outcome
from tidelog.group_coordinator.core.transactions.markers import SendMarkers
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from tidelog.group_coordinator.core.transactions.shard import TransactionLimits, TransactionShard
from tidelog.group_coordinator.core.transactions.state_records import decode_key, decode_value
from tidelog.group_coordinator.core.transactions.states import PREPARED
from tidelog.kafka.errors import KafkaCode as K
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.types import TopicPartition
from tidelog.kafka.wire.messages.write_txn_markers import WriteTxnMarkersResponse

NAMES = ("x", "y")
PARTITIONS = [tp("a", 0), tp("a", 1), tp("a", 2), tp("b", 0)]
TIMEOUT_MS = 10_000
EXPIRATION_MS = 500_000

names = st.sampled_from(NAMES)
partitions = st.sampled_from(PARTITIONS)
indexes = st.integers(0, 99)
instances = st.sampled_from([0, 0, 0, 1, 2, 3])  # which of those there are, counted from the youngest
fates = st.sampled_from(["commit", "commit", "commit", "wait", "fail", "unknown"])  # of records on their way to the log
Token = tuple[str, int]  # one transaction: its id, and how many came before it
Who = tuple[int, int]


@dataclass
class Leader:
    """What the leader of one partition knows of producers."""

    epochs: dict[int, int] = field(default_factory=dict)
    coordinator_epochs: dict[int, int] = field(default_factory=dict)
    open: dict[int, Token] = field(default_factory=dict)


@dataclass
class Waiting:
    """A decision whose records are on their way to the log."""

    outcome: Outcome[Any]
    on_answered: Callable[[Any], None]


class TransactionsMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.coordinator = Coordinator(TransactionLimits(transactional_id_expiration_ms=EXPIRATION_MS))
        self.waiting: list[Waiting] = []
        self.flying: list[tuple[TransactionShard, SendMarkers]] = []
        self.leaders = {partition: Leader() for partition in PARTITIONS}
        self.instances: list[tuple[str, Who]] = []
        self.holder: dict[str, Who] = {}
        self.shut_out: set[tuple[str, Who]] = set()
        self.numbers = dict.fromkeys(NAMES, 0)
        self.newest: dict[str, TransactionMetadata | None] = dict.fromkeys(NAMES)
        self.uncertain: set[str] = set()
        self.results: dict[Token, set[bool]] = {}
        self.promised: dict[Token, bool] = {}

    @property
    def shard(self) -> TransactionShard:
        return self.coordinator.shard

    def _instance(self, index: int) -> tuple[str, Who]:
        return self.instances[-1 - index % len(self.instances)]

    # ---- the log

    def _submit(self, outcome: Outcome[Any], on_answered: Callable[[Any], None], fate: str = "wait") -> None:
        if not outcome.records:
            on_answered(outcome.answer)
            return
        self.waiting.append(Waiting(outcome, on_answered))
        while fate != "wait" and len(self.waiting) > 1:
            self.commit()
        if fate == "commit":
            self.commit()
        elif fate != "wait":
            self.append_fails(is_in_the_log=fate == "unknown")

    def _append(self, record: CoordinatorRecord, *, is_known: bool) -> None:
        """The record is in the log; the coordinator may not know it."""
        name = decode_key(record.key)
        assert name is not None
        before, after = self.newest[name], decode_value(record.value) if record.value is not None else None
        is_certain = name not in self.uncertain
        if is_certain and before and after and before.state in PREPARED:
            assert after.state is PREPARED[before.state], "a decided transaction ends as decided"
            self.numbers[name] += 1
        if is_certain and before and after:
            is_same = before.producer_id == after.producer_id
            assert not is_same or after.producer_epoch >= before.producer_epoch, "an epoch never goes back"
        self.newest[name] = after
        self.coordinator.log.append(record)
        if is_known:
            self.shard.replay(record)
            self.uncertain.discard(name)
        else:
            self.uncertain.add(name)

    @precondition(lambda self: self.waiting)
    @rule()
    def commit(self) -> None:
        waiting = self.waiting.pop(0)
        for record in waiting.outcome.records:
            self._append(record, is_known=True)
        waiting.on_answered(waiting.outcome.answer)

    @precondition(lambda self: self.waiting)
    @rule(is_in_the_log=st.booleans())
    def append_fails(self, is_in_the_log: bool) -> None:
        waiting = self.waiting.pop(0)
        if is_in_the_log:
            for record in waiting.outcome.records:
                self._append(record, is_known=False)
        self.shard.on_append_failed(waiting.outcome.records, self.coordinator.now_ms)

    @rule(arrived=st.integers(0, 3))
    def restart(self, arrived: int) -> None:
        """Of what was on its way to the log, only the first arrives; nobody gets an answer."""
        for waiting in self.waiting[:arrived]:
            for record in waiting.outcome.records:
                self._append(record, is_known=False)
        self.waiting.clear()
        self.coordinator.restart()
        self.uncertain.clear()
        # Whoever was fenced in memory only is not fenced any more.
        self.shut_out = {(name, who) for name, who in self.shut_out if self._epoch_of(name) > who[1]}

    def _epoch_of(self, name: str) -> int:
        newest = self.newest[name]
        return newest.producer_epoch if newest else 0

    # ---- producers

    @rule(name=names, fate=fates)
    def new_instance(self, name: str, fate: str) -> None:
        outcome = self.coordinator.asked_init(name, timeout_ms=TIMEOUT_MS)
        if outcome.records and outcome.answer.error_code == K.CONCURRENT_TRANSACTIONS:
            self.shut_out.add((name, self.holder[name]))
        self._submit(outcome, lambda answer: self._granted(name, answer, told=None), fate=fate)

    @precondition(lambda self: self.instances)
    @rule(index=instances, fate=fates)
    def bump(self, index: int, fate: str) -> None:
        name, who = self._instance(index)
        outcome = self.coordinator.asked_init(name, timeout_ms=TIMEOUT_MS, told=who)
        # An id that was forgotten is fresh to everybody.
        if self.shard.transactions.get(name) is not None:
            self._check_fenced(name, who, outcome)
        if outcome.records and outcome.answer.error_code == K.CONCURRENT_TRANSACTIONS:
            self.shut_out.add((name, who))
        self._submit(outcome, lambda answer: self._granted(name, answer, told=who), fate=fate)

    def _granted(self, name: str, answer: Any, told: Who | None) -> None:
        if answer.error_code != K.NONE:
            return
        who, last = (answer.producer_id, answer.producer_epoch), self.holder.get(name, (-1, -1))
        assert who > last or (told is not None and who == last), "epochs and ids never go back"
        self.holder[name] = who
        self.instances.append((name, who))

    @precondition(lambda self: self.instances)
    @rule(index=instances, added=st.lists(partitions, min_size=1, max_size=3, unique=True), fate=fates)
    def add(self, index: int, added: list[TopicPartition], fate: str) -> None:
        name, who = self._instance(index)
        outcome = self.coordinator.asked_add(who, *added, name=name)
        self._check_fenced(name, who, outcome)

        def on_answered(codes: dict[TopicPartition, int]) -> None:
            for partition in added:
                if codes[partition] == K.NONE:
                    self._produce(name, who, partition)

        self._submit(outcome, on_answered, fate=fate)

    @rule(name=names, added=partitions, commit=st.booleans())
    def transact(self, name: str, added: TopicPartition, commit: bool) -> None:
        """What a producer does all day, as far as it is let."""
        if name not in self.holder:
            self.new_instance(name, fate="commit")
        holder = next((at for at, (id, _) in enumerate(reversed(self.instances)) if id == name), None)
        if holder is not None:
            self.add(holder, [added], fate="commit")
            self.end(holder, commit, fate="commit")

    @precondition(lambda self: self.instances)
    @rule(index=instances, partition=partitions)
    def produce(self, index: int, partition: TopicPartition) -> None:
        self._produce(*self._instance(index), partition)

    def _produce(self, name: str, who: Who, partition: TopicPartition) -> None:
        """A leader takes a first batch only from those whom the coordinator confirms."""
        leader = self.leaders[partition]
        if who[1] < leader.epochs.get(who[0], -1) or who[0] in leader.open:
            return
        try:
            codes = self.shard.verify(name, ProducerIdAndEpoch.told(*who), [partition])
        except KafkaError:
            return
        if codes[partition] is K.NONE:
            assert self.holder[name] == who, "a fenced producer begins nothing"
            assert (name, who) not in self.shut_out, "a fenced producer begins nothing"
            leader.open[who[0]] = (name, self.numbers[name])
            leader.epochs[who[0]] = who[1]

    @precondition(lambda self: self.instances)
    @rule(index=instances, commit=st.booleans(), fate=fates)
    def end(self, index: int, commit: bool, fate: str) -> None:
        name, who = self._instance(index)
        outcome = self.coordinator.asked_end(who, commit, name)
        self._check_fenced(name, who, outcome)
        token = (name, self.numbers[name])

        def on_answered(code: int) -> None:
            if code == K.NONE and outcome.records:
                assert token not in self.promised, "a transaction ends once"
                self.promised[token] = commit
            elif code == K.NONE:
                assert self.coordinator.state(name) == ("CompleteCommit" if commit else "CompleteAbort")

        self._submit(outcome, on_answered, fate=fate)

    def _check_fenced(self, name: str, who: Who, outcome: Outcome[Any]) -> None:
        if self.holder[name] != who or (name, who) in self.shut_out:
            assert outcome.records == (), "a fenced producer changes nothing"

    # ---- time

    @rule(passed_ms=st.sampled_from([1, 150, 150, 150, TIMEOUT_MS + 1, EXPIRATION_MS + 1]))
    def time_passes(self, passed_ms: int) -> None:
        self.coordinator.now_ms += passed_ms
        timed_out = self.shard.abort_timed_out(self.coordinator.now_ms)
        self.shut_out |= {(name, self.holder[name]) for each in timed_out if (name := decode_key(each.records[0].key))}
        expired = self.shard.forget_expired(self.coordinator.now_ms)
        for outcome in timed_out + expired:
            self._submit(outcome, lambda _: None)

    @rule()
    def nobody_disturbs(self) -> None:
        """All that is under way arrives."""
        for _ in range(3):
            self.coordinator.now_ms += 100
            self.send()
            while self.flying:
                self.markers_arrive(0, is_answered=True)
            while self.waiting:
                self.commit()

    # ---- markers

    @rule()
    def send(self) -> None:
        due = self.shard.take_due(self.coordinator.view, self.coordinator.now_ms)
        for outcome in due.completions:
            self._submit(outcome, lambda _: None)
        self.flying += [(self.shard, sent) for sent in due.sends]

    @precondition(lambda self: self.flying)
    @rule(index=indexes, is_answered=st.booleans())
    def markers_arrive(self, index: int, is_answered: bool) -> None:
        """They may be those of a coordinator that is no longer the one."""
        shard, sent = self.flying.pop(index % len(self.flying))
        response = self._written(sent)
        if shard is not self.shard:
            return
        if is_answered:
            cancelled = shard.on_markers_answered(sent, response, self.coordinator.now_ms)
            assert cancelled == (), "nobody else has our transactions"
        else:
            shard.on_markers_lost(sent, self.coordinator.now_ms)

    @precondition(lambda self: self.flying)
    @rule(index=indexes, code=st.sampled_from([K.NONE, K.NOT_LEADER_OR_FOLLOWER, K.REQUEST_TIMED_OUT]))
    def markers_do_not_arrive(self, index: int, code: K) -> None:
        shard, sent = self.flying.pop(index % len(self.flying))
        if shard is self.shard and code is K.NONE:
            shard.on_markers_lost(sent, self.coordinator.now_ms)
        elif shard is self.shard:
            shard.on_markers_answered(sent, all_written(sent, code), self.coordinator.now_ms)

    def _written(self, sent: SendMarkers) -> WriteTxnMarkersResponse:
        response = all_written(sent)
        (coordinator_epoch,) = {marker.coordinator_epoch for marker in sent.request.markers}
        for at, marker in enumerate(sent.request.markers):
            for producer_id, epoch, commit, partition in list(marked(sent)):
                if producer_id == marker.producer_id:
                    code = self._mark(partition, producer_id, epoch, coordinator_epoch, commit)
                    _set_code(response, at, partition, code)
        return response

    def _mark(self, partition: TopicPartition, producer_id: int, epoch: int, coordinator: int, commit: bool) -> K:
        leader = self.leaders[partition]
        if epoch < leader.epochs.get(producer_id, -1):
            return K.INVALID_PRODUCER_EPOCH
        if coordinator < leader.coordinator_epochs.get(producer_id, -1):
            return K.TRANSACTION_COORDINATOR_FENCED
        leader.epochs[producer_id], leader.coordinator_epochs[producer_id] = epoch, coordinator
        token = leader.open.pop(producer_id, None)
        if token is not None:
            self.results.setdefault(token, set()).add(commit)
        return K.NONE

    @rule(leaders=st.lists(st.sampled_from([-1, 1, 2, 3]), min_size=4, max_size=4))
    def leaders_move(self, leaders: list[int]) -> None:
        self.coordinator.view = cluster_view({"a": leaders[:3], "b": leaders[3:]})

    # ---- what holds

    @invariant()
    def one_result_everywhere(self) -> None:
        for token, results in self.results.items():
            assert len(results) == 1, f"{token} was committed here and aborted there"
            assert self.promised.get(token, *results) in results, f"{token} ended otherwise than its producer was told"

    @invariant()
    def log_gives_the_same_state(self) -> None:
        compacted = {record.key: record for record in self.coordinator.log}
        for log in (self.coordinator.log, list(compacted.values())):
            loaded = TransactionShard(0, TransactionLimits(), self.coordinator._next_producer_id)
            for record in log:
                loaded.replay(record)
            assert self._durable(loaded) == self._durable(self.shard)

    def _durable(self, shard: TransactionShard) -> dict[str, TransactionMetadata]:
        certain = (each for each in shard.transactions if each.transactional_id not in self.uncertain)
        return {each.transactional_id: each.metadata for each in certain}

    def teardown(self) -> None:
        """With everything sound again no transaction stays open, and every promise was kept."""
        if not hasattr(self, "coordinator"):
            return
        self.coordinator.view = cluster_view({"a": [1, 2, 3], "b": [1]})
        for _ in range(3):
            self.time_passes(TIMEOUT_MS + 1)
            self.nobody_disturbs()
        assert [leader.open for leader in self.leaders.values()] == [{}] * len(PARTITIONS), "nothing stays open"
        assert all(not each.is_prepared for each in self.shard.transactions)
        self.one_result_everywhere()


def _set_code(response: WriteTxnMarkersResponse, at: int, partition: TopicPartition, code: K) -> None:
    for topic in response.markers[at].topics:
        for result in topic.partitions:
            if (topic.name, result.partition_index) == (partition.topic, partition.partition):
                result.error_code = code


TestTransactions = TransactionsMachine.TestCase
TestTransactions.settings = settings(
    max_examples=100, stateful_step_count=80, deadline=None, suppress_health_check=list(HealthCheck)
)
