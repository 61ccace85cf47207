"""The `tidelog` command for people and scripts: one file a verb, all decisions elsewhere."""
