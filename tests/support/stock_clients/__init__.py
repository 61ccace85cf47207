"""Clients that were not made for this broker, behind one interface."""
