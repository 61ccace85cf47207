"""What every Tidelog process is made of: time, settings, logs, metrics, the ops port, gRPC, and the way up and down."""
