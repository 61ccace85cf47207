"""Generated from proto/tidelog/v1 by `make proto`; never edited."""
