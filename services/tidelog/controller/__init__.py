"""The controller: elects leaders, runs topics, fences the dead; one of its processes is active."""
