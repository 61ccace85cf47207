"""What bounds the connections of a broker: their number, what each may take, and how fast they come."""

from collections.abc import Mapping

from tidelog.broker.core.connection_rates import ConnectionRates
from tidelog.broker.core.quota_entries import IP, QuotaOwner
from tidelog.broker.core.quota_limits import CONNECTION_CREATION_RATE
from tidelog.broker.shell.config_store import ConfigStore
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.runtime.clock import Clock


class ConnectionBounds:
    """Follows the configuration: new bounds hold for connections to come, and those that are open stay."""

    def __init__(self, configs: ConfigStore, clock: Clock) -> None:
        config = configs.live.broker
        self.limits = ConnectionLimits(
            request_bytes_max=config.socket_request_max_bytes,
            idle_ms_max=config.connections_max_idle_ms,
            send_buffer_bytes=config.socket_send_buffer_bytes,
            receive_buffer_bytes=config.socket_receive_buffer_bytes,
        )
        self.admission = Admission()
        self._rates = ConnectionRates(
            config.max_connection_creation_rate, config.quota_window_num, config.quota_window_size_seconds
        )
        # With a listener of their own, brokers are let in however many clients knock.
        self._protected = config.inter_broker_listener if len(config.listeners) > 1 else None
        self._clock = clock
        self._on_broker_changed(config)
        configs.on_broker_changed(self._on_broker_changed)
        configs.on_quota_changed(self._on_quota_changed)

    def rate_of(self, listener: str) -> "ListenerRate":
        return ListenerRate(self._rates, self._clock, is_protected=listener == self._protected)

    def _on_broker_changed(self, config: BrokerConfig) -> None:
        self.admission.connections_max = config.max_connections
        self.admission.per_ip_max = config.max_connections_per_ip
        self.admission.per_ip_overrides = config.connection_limits
        self._rates.set_bound(config.max_connection_creation_rate)

    def _on_quota_changed(self, owner: QuotaOwner, values: Mapping[str, float]) -> None:
        (kind, ip), *_ = owner.parts
        if kind == IP:
            self._rates.set_ip_bound(ip, values.get(CONNECTION_CREATION_RATE))


class ListenerRate:
    """How fast connections may come in at one listener; all listeners share the rates."""

    def __init__(self, rates: ConnectionRates, clock: Clock, *, is_protected: bool) -> None:
        self._rates = rates
        self._clock = clock
        self._is_protected = is_protected

    def refusal_ms(self, ip: str) -> float:
        return self._rates.refusal_ms(ip, self._clock.monotonic_ms())

    def pause_ms(self) -> float:
        return 0 if self._is_protected else self._rates.pause_ms(self._clock.monotonic_ms())
