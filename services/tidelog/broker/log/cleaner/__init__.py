"""Compaction: of all records of a key only the newest stays, and everything keeps its offset."""
