{{/* The settings of each process, and how they are written into its file. */}}

{{/* Helm reads every number as a float: 1073741824 must not become 1.073741824e+09. */}}
{{- define "tidelog.settingText" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.properties" -}}
{{- range $name, $value := . }}
{{ $name }}={{ include "tidelog.settingText" $value }}
{{- end }}
{{- end -}}

{{- define "tidelog.zookeeperConnect" -}}
{{- if .Values.zookeeper.enabled -}}
{{- include "tidelog.podAddresses" (dict "root" . "component" "zookeeper" "count" .Values.zookeeper.replicaCount "port" 2181) -}}
{{- else -}}
{{- if not .Values.externalZookeeper.servers -}}
{{- fail "zookeeper.enabled is false, so externalZookeeper.servers must name the servers to use" -}}
{{- end -}}
{{- join "," .Values.externalZookeeper.servers }}{{ .Values.externalZookeeper.chroot -}}
{{- end -}}
{{- end -}}

{{/* What is left of the grace period for the drain: preStop is over by then, and the kill shall not come first. */}}
{{- define "tidelog.shutdownTimeoutMs" -}}
{{- sub (int .terminationGracePeriodSeconds) (add (int .preStopSleepSeconds) 5) | max 1 | mul 1000 -}}
{{- end -}}

{{/* Settings of all processes as YAML: dict root values (of the component) */}}
{{- define "tidelog.commonSettings" -}}
{{- $values := .root.Values -}}
{{- $replication := min 3 (int $values.broker.replicaCount) -}}
log.level: {{ $values.logLevel }}
log.format: {{ $values.logFormat }}
grpc.listener: ":9190"
ops.listener: ":9290"
shutdown.timeout.ms: {{ include "tidelog.shutdownTimeoutMs" .values }}
inter.broker.listener.name: INTERNAL
listener.security.protocol.map: CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT
default.replication.factor: {{ $replication }}
min.insync.replicas: {{ ternary 2 1 (ge $replication 3) }}
offsets.topic.replication.factor: {{ $replication }}
transaction.state.log.replication.factor: {{ $replication }}
transaction.state.log.min.isr: {{ ternary 2 1 (ge $replication 3) }}
{{- end -}}

{{- define "tidelog.brokerSettings" -}}
{{- $listeners := printf "CLIENT://:%d,INTERNAL://:%d" (int .Values.listeners.client.containerPort) (int .Values.listeners.interbroker.containerPort) -}}
{{- if .Values.externalAccess.enabled -}}
{{- $listeners = printf "%s,EXTERNAL://:%d" $listeners (int .Values.listeners.external.containerPort) -}}
{{- end -}}
zookeeper.connect: {{ include "tidelog.zookeeperConnect" . }}
listeners: {{ $listeners }}
log.dirs: /var/lib/tidelog/logs
# A rollout takes the next broker when this one is ready: never before it is in sync.
replica.catch.up.timeout.ms: -1
# Nor does this one go while another is away or behind: two fifths of the time, and no more than half goes for moving leaderships.
controlled.shutdown.replicas.wait.ms: {{ div (mul 2 (include "tidelog.shutdownTimeoutMs" .Values.broker)) 5 }}
{{- with .Values.broker.rack }}
broker.rack: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "tidelog.controllerSettings" -}}
zookeeper.connect: {{ include "tidelog.zookeeperConnect" . }}
{{- end -}}

{{- define "tidelog.groupCoordinatorSettings" -}}
zookeeper.connect: {{ include "tidelog.zookeeperConnect" . }}
listeners: INTERNAL://:{{ .Values.groupCoordinator.listener.containerPort }}
{{- end -}}

{{- define "tidelog.metadataSettings" -}}
controllers: {{ include "tidelog.podAddresses" (dict "root" . "component" "controller" "count" .Values.controller.replicaCount "port" 9190) }}
http.listener: ":8080"
ops.listener: ""
{{- end -}}

{{/* The file of one process: dict root values own (YAML of its own settings) */}}
{{- define "tidelog.settingsFile" -}}
{{- $settings := include "tidelog.commonSettings" . | fromYaml -}}
{{- $settings = mergeOverwrite $settings (.own | fromYaml) .root.Values.overrideConfiguration .values.overrideConfiguration -}}
{{- include "tidelog.properties" $settings | trim -}}
{{- end -}}
