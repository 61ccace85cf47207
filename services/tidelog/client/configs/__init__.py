"""Every setting of the SDK, with Kafka's names and defaults."""

from tidelog.client.configs.admin import AdminConfig
from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.configs.producer import ProducerConfig

__all__ = ["AdminConfig", "ConsumerConfig", "ProducerConfig"]
