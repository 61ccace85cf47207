"""The REST API, and the three ops pages on the same port."""

from fastapi import FastAPI, HTTPException, Response

from tidelog.metadata.core.cluster_page import ClusterPage, describe
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.metrics import installed_version
from tidelog.runtime.ops_pages import OpsPages


def make_app(mirror: ClusterMirror, pages: OpsPages) -> FastAPI:
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

    for path in pages.paths:
        app.add_api_route(path, _ops_page(pages, path), methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _ops_page(pages: OpsPages, path: str):  # type: ignore[no-untyped-def]  # FastAPI reads the inner function's types
    async def page() -> Response:
        answer = pages.respond(path)
        return Response(answer.body, answer.status, media_type=answer.content_type)

    return page
