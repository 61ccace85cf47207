# The image of brokers, controllers, group-coordinators and metadata: Python, the pinned wheels, nothing else.
# `make image` fills build/images first (tools/images) and can make BASE_IMAGE itself, where nothing can be pulled.
ARG BASE_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE} AS install
COPY build/images/wheels /wheels
RUN python3 -m venv --without-pip /opt/tidelog \
 && /opt/tidelog/bin/python "$(ls /wheels/pip-*.whl)/pip" install --no-cache-dir --no-index --find-links /wheels \
    --require-hashes -r /wheels/runtime.txt \
 && /opt/tidelog/bin/python -m compileall -q /opt/tidelog/lib
# Our own wheel comes last: a change of ours alone leaves the layers above as they are.
COPY build/images/own /own
RUN /opt/tidelog/bin/python "$(ls /wheels/pip-*.whl)/pip" install --no-cache-dir --no-index --no-deps /own/tidelog-*.whl \
 && /opt/tidelog/bin/python -m compileall -q /opt/tidelog/lib

FROM ${BASE_IMAGE}
COPY --from=install /opt/tidelog /opt/tidelog
ENV PATH=/opt/tidelog/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 1001:1001
ENTRYPOINT ["tidelog"]
