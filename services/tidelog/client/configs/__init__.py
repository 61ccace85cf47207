"""Every setting of the SDK, with Kafka's names and defaults; a module for each client, so that none waits for the others."""
