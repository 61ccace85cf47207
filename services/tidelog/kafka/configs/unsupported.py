"""The settings of Kafka 2.8 to 3.9 brokers that Tidelog does not have, to tell them from slips of the pen."""

# Settings that are named after a listener, or are handed on to a plug-in, have no fixed list of names.
_PREFIXES = ("listener.name.", "rsm.config.", "rlmm.config.")

_SECURITY = """
authorizer.class.name principal.builder.class security.providers connections.max.reauth.ms early.start.listeners
ssl.allow.dn.changes ssl.allow.san.changes ssl.cipher.suites ssl.client.auth ssl.enabled.protocols
ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm
ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
sasl.client.callback.handler.class sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class sasl.server.max.receive.size
delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.master.key
delegation.token.max.lifetime.ms delegation.token.secret.key
password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
"""

_ZOOKEEPER = """
zookeeper.clientCnxnSocket zookeeper.metadata.migration.enable zookeeper.metadata.migration.min.batch.size
zookeeper.set.acl zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable zookeeper.ssl.crl.enable
zookeeper.ssl.enabled.protocols zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.keystore.location
zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol
zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password zookeeper.ssl.truststore.type
zookeeper.sync.time.ms
"""

_KRAFT = """
broker.heartbeat.interval.ms broker.session.timeout.ms controller.listener.names
controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
controller.quorum.append.linger.ms controller.quorum.bootstrap.servers controller.quorum.election.backoff.max.ms
controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
controller.quorum.retry.backoff.ms controller.quorum.voters eligible.leader.replicas.enable
initial.broker.registration.timeout.ms log.dir.failure.timeout.ms metadata.log.dir
metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
metadata.log.segment.min.bytes metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes
metadata.max.retention.ms node.id process.roles server.max.startup.time.ms unstable.api.versions.enable
unstable.feature.versions.enable
"""

_TIERED_STORAGE = """
remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size
remote.log.metadata.custom.metadata.max.bytes remote.log.metadata.manager.class.name
remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks remote.log.reader.threads
remote.log.storage.manager.class.name remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
remote.log.storage.system.enable
"""

_NEWER_GROUPS = """
group.consumer.assignors group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
group.consumer.max.session.timeout.ms group.consumer.max.size group.consumer.migration.policy
group.consumer.min.heartbeat.interval.ms group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms
group.coordinator.append.linger.ms group.coordinator.new.enable group.coordinator.rebalance.protocols
group.coordinator.threads group.share.delivery.count.limit group.share.enable group.share.heartbeat.interval.ms
group.share.max.groups group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms
group.share.max.session.timeout.ms group.share.max.size group.share.min.heartbeat.interval.ms
group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms group.share.partition.max.record.locks
group.share.record.lock.duration.ms group.share.session.timeout.ms
"""

_REST = """
advertised.host.name advertised.port host.name port
alter.config.policy.class.name create.topic.policy.class.name client.quota.callback.class
auto.include.jmx.reporter kafka.metrics.polling.interval.secs kafka.metrics.reporters metric.reporters
metrics.num.samples metrics.recording.level metrics.sample.window.ms telemetry.max.bytes
inter.broker.protocol.version quota.consumer.default quota.producer.default
"""

_THEMES = (_SECURITY, _ZOOKEEPER, _KRAFT, _TIERED_STORAGE, _NEWER_GROUPS, _REST)


def unsupported_names() -> frozenset[str]:
    """The exact names; made on demand, since a configuration seldom has one."""
    return frozenset(name for theme in _THEMES for name in theme.split())


def is_unsupported(name: str) -> bool:
    """Whether a Kafka broker would know this setting, which Tidelog does not have."""
    return name.startswith(_PREFIXES) or name in unsupported_names()
