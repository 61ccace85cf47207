{{/* A job that runs one of the chart's scripts once: dict root component script arguments resources [serviceAccount] */}}
{{- define "tidelog.jobPod" -}}
metadata:
  labels: {{- include "tidelog.selectorLabels" . | nindent 4 }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ .serviceAccount | default (include "tidelog.serviceAccountName" .root) }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets: {{- range . }}
    - name: {{ . }}
  {{- end }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "tidelog.image" (dict "root" .root "image" .root.Values.image) }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext: {{- toYaml .root.Values.containerSecurityContext | nindent 8 }}
      command: [python3, /scripts/{{ .script }}, {{ include "tidelog.bootstrap" .root | quote }}{{ range .arguments }}, {{ . | quote }}{{ end }}]
      {{- with .resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: scripts, mountPath: /scripts, readOnly: true}
  volumes:
    - name: scripts
      configMap: {name: {{ include "tidelog.fullname" .root }}-{{ .component }}}
{{- end -}}
