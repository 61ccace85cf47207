{{/* What the pods of all components have in common. */}}

{{- define "tidelog.podMetadata" -}}
{{/* dict root component values [scrape: port] [checksum] */ -}}
{{- /* No version among them: a new chart alone is no reason to restart anything. */ -}}
labels:
  {{- include "tidelog.selectorLabels" . | nindent 2 }}
  {{- with merge (dict) .values.podLabels .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := dict -}}
{{- with .checksum }}{{ $_ := set $annotations "checksum/config" . }}{{ end -}}
{{- if and .scrape .root.Values.metrics.podAnnotations -}}
{{- $_ := set $annotations "prometheus.io/scrape" "true" -}}
{{- $_ := set $annotations "prometheus.io/port" (toString .scrape) -}}
{{- $_ := set $annotations "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- with merge $annotations .values.podAnnotations .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where pods go and as whom they run: dict root component values */}}
{{- define "tidelog.podPlacement" -}}
serviceAccountName: {{ include "tidelog.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- if .values.shareProcessNamespace }}
shareProcessNamespace: true
{{- end }}
{{- with include "tidelog.pullSecrets" .root }}
{{- . | nindent 0 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.affinity }}
affinity: {{- toYaml .values.affinity | nindent 2 }}
{{- else if .values.podAntiAffinityPreset }}
affinity:
  podAntiAffinity:
    {{- if eq .values.podAntiAffinityPreset "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "tidelog.selectorLabels" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "tidelog.selectorLabels" . | nindent 14 }}
    {{- end }}
{{- end }}
{{- if .values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else if .values.zoneSpread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "tidelog.selectorLabels" . | nindent 8 }}
{{- end }}
{{- with .values.initContainers }}
initContainers: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tidelog.httpProbe" -}}
{{/* dict probe path port */ -}}
httpGet: {path: {{ .path }}, port: {{ .port }}}
{{ omit .probe "enabled" | toYaml }}
{{- end -}}

{{- define "tidelog.probes" -}}
{{/* dict root values port */ -}}
{{- if not .root.Values.diagnosticMode.enabled -}}
{{- if .values.startupProbe.enabled }}
startupProbe: {{- include "tidelog.httpProbe" (dict "probe" .values.startupProbe "path" "/livez" "port" .port) | nindent 2 }}
{{- end }}
{{- if .values.readinessProbe.enabled }}
readinessProbe: {{- include "tidelog.httpProbe" (dict "probe" .values.readinessProbe "path" "/readyz" "port" .port) | nindent 2 }}
{{- end }}
{{- if .values.livenessProbe.enabled }}
livenessProbe: {{- include "tidelog.httpProbe" (dict "probe" .values.livenessProbe "path" "/livez" "port" .port) | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The container of a Tidelog process: dict root component role values port command env ports mounts */}}
{{- define "tidelog.container" -}}
name: {{ .component }}
image: {{ include "tidelog.image" (dict "root" .root "image" .root.Values.image) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- if .root.Values.diagnosticMode.enabled }}
command: [sleep, infinity]
{{- else if .command }}
command: {{- toYaml .command | nindent 2 }}
{{- else }}
command: [tidelog, {{ .role }}, --config, /etc/tidelog/{{ .role }}.properties]
{{- end }}
env:
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  # An address that is good for exactly this pod: a name would lead to its predecessor while caches last.
  - {name: TIDELOG_GRPC_ADVERTISED_LISTENER, value: "$(POD_IP):9190"}
  {{- with .env }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .values.extraEnvVars }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- range $name, $port := .ports }}
  - {name: {{ $name }}, containerPort: {{ $port }}}
  {{- end }}
{{- include "tidelog.probes" . }}
{{- if .values.preStopSleepSeconds }}
lifecycle:
  preStop:
    sleep: {seconds: {{ .values.preStopSleepSeconds }}}
{{- end }}
{{- with .values.resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - {name: settings, mountPath: /etc/tidelog, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  {{- with .mounts }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Volumes of a Tidelog process: dict root component values */}}
{{- define "tidelog.volumes" -}}
- name: settings
  configMap: {name: {{ include "tidelog.fullname" .root }}-{{ .component }}}
- name: tmp
  emptyDir: {}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A number of the pod in its StatefulSet, as the id of its process: the variable's name */}}
{{- define "tidelog.idFromPodIndex" -}}
- name: {{ . }}
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
{{- end -}}

{{- define "tidelog.volumeClaim" -}}
{{/* dict root component persistence name */ -}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: {{ .name }}
    labels: {{- include "tidelog.selectorLabels" . | nindent 6 }}
    {{- with .persistence.annotations }}
    annotations: {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    accessModes: {{- toYaml .persistence.accessModes | nindent 6 }}
    {{- with include "tidelog.storageClass" . }}
    {{- . | nindent 4 }}
    {{- end }}
    resources: {requests: {storage: {{ .persistence.size }}}}
{{- end -}}

{{- define "tidelog.pdb" -}}
{{/* dict root component values */ -}}
{{- if and .values.pdb.create (gt (int .values.replicaCount) 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "tidelog.metadata" (dict "root" .root "component" .component "suffix" .component) | nindent 2 }}
spec:
  maxUnavailable: {{ .values.pdb.maxUnavailable }}
  selector:
    matchLabels: {{- include "tidelog.selectorLabels" . | nindent 6 }}
{{- end -}}
{{- end -}}
