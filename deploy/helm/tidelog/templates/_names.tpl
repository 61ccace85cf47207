{{/* Names and labels. Every define takes the root context, or a dict of root and component. */}}

{{- define "tidelog.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough that the longest suffix (-group-coordinator-headless) fits into the 63 characters of a name. */}}
{{- define "tidelog.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 36 | trimSuffix "-" -}}
{{- else if contains (include "tidelog.name" .) .Release.Name -}}
{{- .Release.Name | trunc 36 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tidelog.name" .) | trunc 36 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tidelog.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "tidelog.releaseLabels" -}}
app.kubernetes.io/name: {{ include "tidelog.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tidelog.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: tidelog
{{ include "tidelog.selectorLabels" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The metadata of an object: dict root component [suffix] [annotations] */}}
{{- define "tidelog.metadata" -}}
name: {{ include "tidelog.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "tidelog.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tidelog.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tidelog.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image by digest or tag: dict root image */}}
{{- define "tidelog.image" -}}
{{- $name := .image.repository -}}
{{- with default .root.Values.global.imageRegistry .image.registry }}{{ $name = printf "%s/%s" . $name }}{{ end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What pods pull their images with, those of a parent chart first; each is a name, or {name: ...} */}}
{{- define "tidelog.pullSecrets" -}}
{{- with concat (default list .Values.global.imagePullSecrets) .Values.image.pullSecrets -}}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "map" . | ternary (dig "name" "" (kindIs "map" . | ternary . dict)) . }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* The line of a volume claim that chooses its class, if one is chosen: dict root persistence */}}
{{- define "tidelog.storageClass" -}}
{{- with default .root.Values.global.storageClass .persistence.storageClass -}}
storageClassName: {{ . }}
{{- end -}}
{{- end -}}

{{/* The domain name under which pod $(POD_NAME) of a headless service is found: dict root component */}}
{{- define "tidelog.headless" -}}
{{- printf "%s-%s-headless" (include "tidelog.fullname" .root) .component -}}
{{- end -}}
{{- define "tidelog.podDomain" -}}
{{- printf "%s.%s.svc.%s" (include "tidelog.headless" .) .root.Release.Namespace .root.Values.clusterDomain -}}
{{- end -}}

{{/* The addresses of all pods of a StatefulSet with a port, separated by commas: dict root component count port */}}
{{- define "tidelog.podAddresses" -}}
{{- $all := list -}}
{{- range $index := until (int .count) -}}
{{- $pod := printf "%s-%s-%d" (include "tidelog.fullname" $.root) $.component $index -}}
{{- $all = append $all (printf "%s.%s:%d" $pod (include "tidelog.podDomain" $) (int $.port)) -}}
{{- end -}}
{{- join "," $all -}}
{{- end -}}

{{- define "tidelog.bootstrap" -}}
{{- printf "%s.%s.svc.%s:%d" (include "tidelog.fullname" .) .Release.Namespace .Values.clusterDomain (int .Values.service.ports.client) -}}
{{- end -}}
