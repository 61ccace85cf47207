"""Sockets that speak the Kafka wire: the server side of a listener, and the client side of one connection."""
