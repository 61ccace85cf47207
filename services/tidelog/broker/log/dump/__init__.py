"""The files of a log as text, in the very lines that Kafka's DumpLogSegments prints."""
