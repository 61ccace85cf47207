# What the end-to-end tests run inside the cluster: a stock Kafka client, and Debian's Prometheus.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE} AS install
COPY build/images/e2e/wheels /wheels
RUN python3 -m venv --without-pip /opt/client \
 && /opt/client/bin/python "$(ls /wheels/pip-*.whl)/pip" install --no-cache-dir --no-index --find-links /wheels confluent-kafka

FROM ${BASE_IMAGE}
COPY --from=install /opt/client /opt/client
COPY build/images/e2e/prometheus /usr/local/bin
ENV PATH=/opt/client/bin:$PATH PYTHONUNBUFFERED=1
USER 1001:1001
CMD ["sleep", "infinity"]
