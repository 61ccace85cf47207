"""Between the controller's requests as values and as protobuf messages."""

from tidelog.controller.core.requests import LeaderAndIsr, StopReplica
from tidelog.rpc import broker_pb2
from tidelog.runtime.cluster_rpc import members_to_rpc, partition_to_rpc


def leader_and_isr_to_rpc(
    request: LeaderAndIsr, controller_id: int, controller_epoch: int, broker_epoch: int, sequence: int
) -> broker_pb2.LeaderAndIsrRequest:
    """The partitions of a topic stand together, each with what it needs beyond its state."""
    message = broker_pb2.LeaderAndIsrRequest(
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        live_leaders=members_to_rpc(request.live_leaders),
        sequence=sequence,
    )
    topics = {name: message.topics.add(name=name, topic_id=topic_id.bytes) for name, topic_id in request.topic_ids}
    for each in request.partitions:
        state = topics[each.topic].partitions.add()
        state.CopyFrom(partition_to_rpc(each.state))
        state.is_new, state.recovering = each.is_new, each.recovering
    return message


def stop_replica_to_rpc(
    request: StopReplica, controller_id: int, controller_epoch: int, broker_epoch: int, sequence: int
) -> broker_pb2.StopReplicaRequest:
    return broker_pb2.StopReplicaRequest(
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        partitions=[
            broker_pb2.StopReplicaPartition(
                topic=each.partition.topic,
                partition=each.partition.partition,
                leader_epoch=each.leader_epoch,
                delete_partition=each.delete,
            )
            for each in request.partitions
        ],
        sequence=sequence,
    )
