"""The defaults of Kafka's settings, number by number."""

import pytest

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.setting import settings_of
from tidelog.kafka.configs.topic import TopicConfig

# "-" stands for a setting that must be given.
BROKER = """
broker.id -1
broker.id.generation.enable true
reserved.broker.max.id 1000
zookeeper.connect -
zookeeper.session.timeout.ms 18000
zookeeper.max.in.flight.requests 10
listeners PLAINTEXT://:9092
num.network.threads 3
num.io.threads 8
background.threads 10
queued.max.requests 500
socket.request.max.bytes 104857600
socket.send.buffer.bytes 102400
socket.receive.buffer.bytes 102400
connections.max.idle.ms 600000
max.connections 2147483647
max.connections.per.ip 2147483647
request.timeout.ms 30000
message.max.bytes 1048588
num.recovery.threads.per.data.dir 1
num.partitions 1
default.replication.factor 1
auto.create.topics.enable true
delete.topic.enable true
log.segment.bytes 1073741824
log.roll.hours 168
log.roll.jitter.hours 0
log.retention.hours 168
log.retention.bytes -1
log.retention.check.interval.ms 300000
log.cleanup.policy delete
log.index.size.max.bytes 10485760
log.index.interval.bytes 4096
log.segment.delete.delay.ms 60000
log.flush.interval.messages 9223372036854775807
log.flush.offset.checkpoint.interval.ms 60000
log.flush.start.offset.checkpoint.interval.ms 60000
log.message.timestamp.type CreateTime
log.message.timestamp.before.max.ms 9223372036854775807
log.message.timestamp.after.max.ms 9223372036854775807
compression.type producer
log.preallocate false
min.insync.replicas 1
unclean.leader.election.enable false
log.cleaner.enable true
log.cleaner.threads 1
log.cleaner.dedupe.buffer.size 134217728
log.cleaner.io.buffer.load.factor 0.9
log.cleaner.min.cleanable.ratio 0.5
log.cleaner.delete.retention.ms 86400000
log.cleaner.min.compaction.lag.ms 0
log.cleaner.max.compaction.lag.ms 9223372036854775807
log.cleaner.backoff.ms 15000
log.cleaner.io.buffer.size 524288
replica.lag.time.max.ms 30000
replica.fetch.max.bytes 1048576
replica.fetch.response.max.bytes 10485760
replica.fetch.wait.max.ms 500
replica.fetch.min.bytes 1
replica.fetch.backoff.ms 1000
replica.socket.timeout.ms 30000
num.replica.fetchers 1
replica.high.watermark.checkpoint.interval.ms 5000
fetch.max.bytes 57671680
controller.socket.timeout.ms 30000
auto.leader.rebalance.enable true
leader.imbalance.check.interval.seconds 300
leader.imbalance.per.broker.percentage 10
controlled.shutdown.enable true
controlled.shutdown.max.retries 3
controlled.shutdown.retry.backoff.ms 5000
max.incremental.fetch.session.cache.slots 1000
group.min.session.timeout.ms 6000
group.max.session.timeout.ms 1800000
group.initial.rebalance.delay.ms 3000
group.max.size 2147483647
offsets.topic.num.partitions 50
offsets.topic.replication.factor 3
offsets.topic.segment.bytes 104857600
offsets.load.buffer.size 5242880
offsets.retention.minutes 10080
offsets.retention.check.interval.ms 600000
offsets.commit.timeout.ms 5000
offsets.commit.required.acks -1
offset.metadata.max.bytes 4096
transaction.state.log.num.partitions 50
transaction.state.log.replication.factor 3
transaction.state.log.min.isr 2
transaction.max.timeout.ms 900000
transactional.id.expiration.ms 604800000
transaction.abort.timed.out.transaction.cleanup.interval.ms 10000
transaction.remove.expired.transaction.cleanup.interval.ms 3600000
transaction.partition.verification.enable true
producer.id.expiration.ms 86400000
producer.id.expiration.check.interval.ms 600000
quota.window.num 11
quota.window.size.seconds 1
replication.quota.window.num 11
replication.quota.window.size.seconds 1
"""

UNSET = """
zookeeper.connection.timeout.ms advertised.listeners inter.broker.listener.name control.plane.listener.name log.dirs
log.dir log.flush.interval.ms log.roll.ms log.retention.ms log.retention.minutes replica.selector.class broker.rack
"""

TOPIC = """
max.message.bytes 1048588
segment.bytes 1073741824
segment.ms 604800000
segment.jitter.ms 0
retention.ms 604800000
retention.bytes -1
cleanup.policy delete
segment.index.bytes 10485760
index.interval.bytes 4096
file.delete.delay.ms 60000
flush.messages 9223372036854775807
flush.ms 9223372036854775807
message.timestamp.type CreateTime
message.timestamp.before.max.ms 9223372036854775807
message.timestamp.after.max.ms 9223372036854775807
compression.type producer
preallocate false
min.insync.replicas 1
unclean.leader.election.enable false
min.cleanable.dirty.ratio 0.5
delete.retention.ms 86400000
min.compaction.lag.ms 0
max.compaction.lag.ms 9223372036854775807
"""


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.split("\n") if line]


@pytest.mark.parametrize(("name", "text"), _lines(BROKER))
def test_a_broker_setting_has_kafkas_default(name: str, text: str) -> None:
    declared = settings_of(BrokerConfig)[name]
    assert ("-" if declared.is_required else declared.text(declared.default)) == text


@pytest.mark.parametrize("name", UNSET.split())
def test_a_broker_setting_may_stay_unset(name: str) -> None:
    assert settings_of(BrokerConfig)[name].default is None


@pytest.mark.parametrize(("name", "text"), _lines(TOPIC))
def test_a_topic_setting_has_kafkas_default(name: str, text: str) -> None:
    declared = settings_of(TopicConfig)[name]
    assert declared.text(declared.default) == text
