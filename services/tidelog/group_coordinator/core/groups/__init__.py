"""The group coordinator's decisions: who is in which group, what each member owns, how far each group has read."""
