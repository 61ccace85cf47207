"""What a broker decides: plain synchronous state machines, with time and everything else from outside passed in."""
