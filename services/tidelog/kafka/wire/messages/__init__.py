"""One file an API key: its name, its versions, and the schemas of its request and its response."""
