"""The SDK without `await`: the same producers, consumers and admins, each on an event loop in a thread of its own.

with Producer(bootstrap_servers="127.0.0.1:9092") as producer:
    written = producer.send("orders", b"value").result()
"""

from tidelog.client.sync.admin import Admin
from tidelog.client.sync.consumer import Consumer
from tidelog.client.sync.producer import Delivery, Producer

__all__ = ["Admin", "Consumer", "Delivery", "Producer"]
