"""What the jobs do to rows: DataFrame in, DataFrame out, without a topic or a file in sight."""
