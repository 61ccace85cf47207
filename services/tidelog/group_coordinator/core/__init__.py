"""What a group coordinator decides: groups, offsets and transactions, without any IO."""
