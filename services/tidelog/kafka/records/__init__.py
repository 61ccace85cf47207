"""Record batches of format version 2: the header, the records in it, their compression, and what a leader refuses."""
