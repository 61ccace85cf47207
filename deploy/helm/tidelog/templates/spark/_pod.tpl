{{/*
A pod with a driver in client mode, which starts executors as pods: dict root component arguments [restartPolicy].
Executors are owned by the driver's pod and go with it, and find it by its address.
*/}}
{{- define "tidelog.sparkPod" -}}
{{- $values := .root.Values.spark -}}
{{- $name := printf "%s-spark" (include "tidelog.fullname" .root) -}}
metadata:
  labels: {{- include "tidelog.selectorLabels" . | nindent 4 }}
  annotations: {checksum/config: {{ printf "%s%s" (toYaml (omit $values "batchJobs")) (include "tidelog.image" (dict "root" .root "image" $values.image)) | sha256sum }}}
spec:
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  serviceAccountName: {{ $name }}
  enableServiceLinks: false
  securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  # The batch that is under way is finished first.
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- with include "tidelog.pullSecrets" .root }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: driver
      image: {{ include "tidelog.image" (dict "root" .root "image" $values.image) }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      securityContext: {{- toYaml .root.Values.containerSecurityContext | nindent 8 }}
      {{- if .root.Values.diagnosticMode.enabled }}
      args: [sleep, infinity]
      {{- else }}
      args:
        {{- range .arguments }}
        - {{ toString . | quote }}
        {{- end }}
      {{- end }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - {name: SPARK_CONF_DIR, value: /etc/spark}
        - {name: SPARK_LOCAL_HOSTNAME, value: "$(POD_IP)"}
        - {name: PYSPARK_SUBMIT_ARGS, value: "--conf spark.kubernetes.driver.pod.name=$(POD_NAME) pyspark-shell"}
        - {name: TIDELOG_BOOTSTRAP, value: {{ include "tidelog.bootstrap" .root | quote }}}
        {{- with $values.extraEnvVars }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: driver, containerPort: 7078}
        - {name: blocks, containerPort: 7079}
        - {name: spark-ui, containerPort: 4040}
        - {name: metrics, containerPort: {{ $values.metricsPort }}}
      {{- with $values.driver.resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: settings, mountPath: /etc/spark, readOnly: true}
        - {name: application, mountPath: /etc/spark-application, readOnly: true}
        - {name: state, mountPath: /var/lib/spark}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: settings
      configMap: {name: {{ $name }}}
    - name: application
      configMap: {name: {{ $name }}-application}
    - name: tmp
      emptyDir: {}
    {{- include "tidelog.sparkState" .root | nindent 4 }}
{{- end -}}

{{/* The volume for checkpoints, which executors write to as well: their part of a query's state is there. */}}
{{- define "tidelog.sparkState" -}}
- name: state
  {{- if .Values.spark.persistence.enabled }}
  persistentVolumeClaim: {claimName: {{ include "tidelog.fullname" . }}-spark}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end -}}

{{/* The command of a job of the image: dict root job name args */}}
{{- define "tidelog.sparkJob" -}}
{{- $arguments := list "python3" "-m" (printf "jobs.%s" .job) "--bootstrap" (include "tidelog.bootstrap" .root) -}}
{{- $arguments = concat $arguments (list "--checkpoint" (printf "%s/%s" .root.Values.spark.checkpoint .name)) -}}
{{- $arguments = concat $arguments (list "--metrics-port" (toString .root.Values.spark.metricsPort)) -}}
{{- if eq .job "operations" -}}
{{- /* The names of headless services stand for all of their pods. */ -}}
{{- $places := list (printf "%s-metadata:9290" (include "tidelog.fullname" .root)) -}}
{{- range list "broker" "controller" "group-coordinator" -}}
{{- $places = append $places (printf "%s-%s-headless:9290" (include "tidelog.fullname" $.root) .) -}}
{{- end -}}
{{- $arguments = concat $arguments (list "--scrape" (join "," $places)) -}}
{{- end -}}
{{- concat $arguments .args | toJson -}}
{{- end -}}
