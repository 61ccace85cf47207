"""What the metadata service says, without IO."""
