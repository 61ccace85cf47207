"""All of them."""

from tests.support.stock_clients.aio import Aiokafka
from tests.support.stock_clients.interface import StockClient
from tests.support.stock_clients.kafka_python import KafkaPython
from tests.support.stock_clients.librdkafka import Confluent

STOCK_CLIENTS: tuple[StockClient, ...] = (Confluent(), KafkaPython(), Aiokafka())
