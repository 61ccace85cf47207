"""What the shell offers after a tab: the names that the cluster has at the moment."""

import asyncio

from tidelog.cli.target import Target, target_of_environment

_PATIENCE_S = 2.0


def complete_topic(incomplete: str) -> list[str]:
    """Topics that begin so; none if the cluster does not answer at once."""
    return _names("topics", incomplete)


def complete_group(incomplete: str) -> list[str]:
    """Groups that begin so."""
    return _names("groups", incomplete)


def complete_context(incomplete: str) -> list[str]:
    """Saved contexts that begin so."""
    from tidelog.cli.contexts import contexts_file, load_contexts

    return [name for name in load_contexts(contexts_file()).saved if name.startswith(incomplete)]


def _names(what: str, incomplete: str) -> list[str]:
    try:
        found = asyncio.run(_ask(target_of_environment(None, {}, _PATIENCE_S), what))
    except Exception:  # noqa: BLE001 - the edge: a shell that completes has no place for errors
        return []
    return [name for name in found if name.startswith(incomplete)]


async def _ask(target: Target, what: str) -> list[str]:
    async with target.admin() as admin:
        if what == "topics":
            return await admin.list_topics()
        return [each.group_id for each in await admin.list_groups()]
