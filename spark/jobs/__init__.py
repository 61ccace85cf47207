"""Programs for Spark: each reads its arguments, puts a transform between a source and a sink, and tells of its progress."""
