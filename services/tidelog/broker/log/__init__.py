"""What a broker keeps on disk: Kafka's log format, byte for byte, with crash recovery. No sockets, no event loop."""
