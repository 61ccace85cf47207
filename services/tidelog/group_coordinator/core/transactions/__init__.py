"""The transaction coordinator's decisions: who may write under which epoch, and how each transaction ends."""
