"""How many files and sockets this process may have open: as many as the system lets it.

The soft limit is often 1024, for the sake of programs that use select(); a broker with a few hundred clients needs more.
"""

import resource

# Systems that know no bound name one that no process can reach, and some take very long to close so many.
_WANTED_MAX = 1_048_576


def raise_descriptor_limit() -> tuple[int, int]:
    """Raise the soft limit to the hard one; gives what it was and what it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_MAX if hard == resource.RLIM_INFINITY else min(hard, _WANTED_MAX)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft, soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft, soft
    return soft, wanted
