"""What the SDK does: connections, metadata, the sender, the fetcher and the group's loop around the cores."""
