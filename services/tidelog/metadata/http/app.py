"""The REST API, and the three ops pages on the same port."""

from fastapi import FastAPI, HTTPException, Response

from tidelog.metadata.core.cluster_page import ClusterPage, describe
from tidelog.metadata.http.group_pages import GroupPage, GroupsPage, describe_group, list_groups
from tidelog.metadata.shell.asking import Coordinators
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.metrics import installed_version
from tidelog.runtime.ops_pages import OpsPages


def make_app(mirror: ClusterMirror, coordinators: Coordinators, pages: OpsPages) -> FastAPI:
    app = FastAPI(
        title="Tidelog",
        version=installed_version(),
        summary="The cluster as it is now.",
        openapi_url="/api/v1/openapi.json",
        docs_url="/api/v1/docs",
        redoc_url=None,
    )

    @app.get("/api/v1/cluster", responses={503: {"description": "No active controller has been heard of yet."}})
    async def cluster() -> ClusterPage:
        """Every process of the cluster, who is the active controller, and the topics."""
        if not mirror.known:
            raise HTTPException(503, "no active controller has been heard of yet; try again")
        return describe(mirror.view)

    @app.get("/api/v1/groups", responses={503: {"description": "No coordinator has answered."}})
    async def groups() -> GroupsPage:
        """Every consumer group in a line."""
        found = await coordinators.groups()
        if not found.groups and not found.complete:
            raise HTTPException(503, "no coordinator has told its groups; try again")
        return list_groups(found.groups, complete=found.complete)

    @app.get(
        "/api/v1/groups/{group_id:path}",
        responses={
            404: {"description": "There is no such group."},
            503: {"description": "Not all coordinators have answered, and those that did do not have the group."},
        },
    )
    async def group(group_id: str) -> GroupPage:
        """One consumer group: its members, what it has committed, and how far it is behind."""
        found = await coordinators.groups([group_id])
        if found.groups:
            return describe_group(found.groups[0])
        if not found.complete:
            raise HTTPException(503, f"the coordinator of group {group_id} is not ready; try again")
        raise HTTPException(404, f"there is no group {group_id}")

    for path in pages.paths:
        app.add_api_route(path, _ops_page(pages, path), methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _ops_page(pages: OpsPages, path: str):  # type: ignore[no-untyped-def]  # FastAPI reads the inner function's types
    async def page() -> Response:
        answer = pages.respond(path)
        return Response(answer.body, answer.status, media_type=answer.content_type)

    return page
