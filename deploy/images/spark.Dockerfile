# Spark with Tidelog's data source and jobs: drivers in client mode, and the executors that they start.
ARG BASE_IMAGE=python:3.11-slim
ARG SERVICES_IMAGE=tidelog:0.1.0
FROM ${SERVICES_IMAGE} AS services

FROM ${BASE_IMAGE}
USER root
# Java and Hadoop want to know what the user is called and where he is at home.
RUN echo 'spark:x:1001:1001::/tmp:/bin/sh' >>/etc/passwd
# A base that has Java already needs no network here.
RUN command -v java >/dev/null \
 || (apt-get update && apt-get install -y --no-install-recommends default-jre-headless && rm -rf /var/lib/apt/lists/*)
COPY --from=services /opt/tidelog /opt/tidelog
COPY build/images/spark /opt/spark
# Nothing can be written there later, and workers start often.
RUN /opt/tidelog/bin/python3 -m compileall -q /opt/spark
COPY deploy/images/spark-entrypoint /usr/local/bin/spark-entrypoint
ENV PATH=/opt/tidelog/bin:$PATH PYTHONPATH=/opt/spark SPARK_HOME=/opt/spark/pyspark \
    PYSPARK_PYTHON=/opt/tidelog/bin/python3 PYTHONUNBUFFERED=1
USER 1001:1001
ENTRYPOINT ["spark-entrypoint"]
