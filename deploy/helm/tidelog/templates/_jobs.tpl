{{/*
A hook that runs one of the chart's scripts once: dict root component hook script arguments resources deadline retries.
The script travels in the job itself, so that a job is all there is to remove. Helm does so when it has succeeded; one that
failed can be looked at for a while, and then Kubernetes removes it.
*/}}
{{- define "tidelog.hookJob" -}}
{{- $annotations := dict "helm.sh/hook" .hook "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" -}}
apiVersion: batch/v1
kind: Job
metadata: {{- include "tidelog.metadata" (dict "root" .root "component" .component "suffix" .component "annotations" $annotations) | nindent 2 }}
spec:
  backoffLimit: {{ .retries }}
  activeDeadlineSeconds: {{ .deadline }}
  ttlSecondsAfterFinished: 600
  template: {{- include "tidelog.jobPod" . | nindent 4 }}
{{- end -}}

{{- define "tidelog.jobPod" -}}
metadata:
  labels: {{- include "tidelog.selectorLabels" . | nindent 4 }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ include "tidelog.serviceAccountName" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with include "tidelog.pullSecrets" .root }}
  {{- . | nindent 2 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "tidelog.image" (dict "root" .root "image" .root.Values.image) }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext: {{- toYaml .root.Values.containerSecurityContext | nindent 8 }}
      command:
        - python3
        - -c
        - {{ .root.Files.Get (printf "files/%s" .script) | quote }}
        - {{ include "tidelog.bootstrap" .root | quote }}
        {{- range .arguments }}
        - {{ toString . | quote }}
        {{- end }}
      {{- with .resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
