"""The admin client without `await`."""

from collections.abc import Mapping
from typing import Any

from tidelog.client import admin as aio
from tidelog.client.sync.loop_thread import SyncClient, waiting


class Admin(SyncClient[aio.Admin]):
    """As `tidelog.client.Admin`; every call waits."""

    def __init__(self, settings: Mapping[str, Any] | None = None, **given: Any) -> None:
        super().__init__(aio.Admin(settings, **given))

    create_topics = waiting(aio.Admin.create_topics)
    delete_topics = waiting(aio.Admin.delete_topics)
    create_partitions = waiting(aio.Admin.create_partitions)
    list_topics = waiting(aio.Admin.list_topics)
    describe_topics = waiting(aio.Admin.describe_topics)
    describe_cluster = waiting(aio.Admin.describe_cluster)
    describe_configs = waiting(aio.Admin.describe_configs)
    alter_configs = waiting(aio.Admin.alter_configs)
    list_groups = waiting(aio.Admin.list_groups)
    describe_groups = waiting(aio.Admin.describe_groups)
    group_coordinator = waiting(aio.Admin.group_coordinator)
    delete_groups = waiting(aio.Admin.delete_groups)
    remove_members = waiting(aio.Admin.remove_members)
    list_group_offsets = waiting(aio.Admin.list_group_offsets)
    alter_group_offsets = waiting(aio.Admin.alter_group_offsets)
    delete_group_offsets = waiting(aio.Admin.delete_group_offsets)
    list_offsets = waiting(aio.Admin.list_offsets)
    alter_reassignments = waiting(aio.Admin.alter_reassignments)
    list_reassignments = waiting(aio.Admin.list_reassignments)
    elect_leaders = waiting(aio.Admin.elect_leaders)
    delete_records = waiting(aio.Admin.delete_records)
    describe_producers = waiting(aio.Admin.describe_producers)
    describe_log_dirs = waiting(aio.Admin.describe_log_dirs)
    alter_replica_log_dirs = waiting(aio.Admin.alter_replica_log_dirs)
    list_transactions = waiting(aio.Admin.list_transactions)
    describe_transactions = waiting(aio.Admin.describe_transactions)
    abort_transaction = waiting(aio.Admin.abort_transaction)
    describe_quotas = waiting(aio.Admin.describe_quotas)
    alter_quotas = waiting(aio.Admin.alter_quotas)
