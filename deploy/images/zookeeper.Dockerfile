# ZooKeeper as `tidelog up` runs it: the same jars on the same Java, which `make image` puts into build/images.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}
COPY build/images/zookeeper /opt/zookeeper
COPY deploy/images/zookeeper-server /usr/local/bin/zookeeper-server
ENV ZOOKEEPER_HEAP=192m
USER 1001:1001
ENTRYPOINT ["zookeeper-server"]
