"""What the controller decides, without IO: events in, effects out."""
