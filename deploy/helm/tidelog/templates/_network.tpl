{{/* NetworkPolicies: what may come in by component, and out only to the release itself and to DNS. */}}

{{- define "tidelog.fromOwnPods" -}}
- podSelector:
    matchLabels: {{- include "tidelog.releaseLabels" . | nindent 6 }}
{{- end -}}

{{/* Who may scrape: dict root */}}
{{- define "tidelog.fromMetricsNamespaces" -}}
- namespaceSelector: {{- toYaml .root.Values.networkPolicy.metricsNamespaceSelector | nindent 4 }}
{{- end -}}

{{/* dict root component internalPorts metricsPort ingress (more rules, as YAML) */}}
{{- define "tidelog.networkPolicy" -}}
{{- if .root.Values.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "tidelog.metadata" (dict "root" .root "component" .component "suffix" .component) | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "tidelog.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - from: {{- include "tidelog.fromOwnPods" .root | nindent 8 }}
      ports:
        {{- range .internalPorts }}
        - {port: {{ . }}}
        {{- end }}
    {{- if .metricsPort }}
    - from: {{- include "tidelog.fromMetricsNamespaces" . | nindent 8 }}
      ports:
        - {port: {{ .metricsPort }}}
    {{- end }}
    {{- with .ingress }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .root.Values.networkPolicy.extraIngress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  egress:
    - to: {{- include "tidelog.fromOwnPods" .root | nindent 8 }}
    - ports:
        - {port: 53, protocol: UDP}
        - {port: 53, protocol: TCP}
    {{- if and (not .root.Values.zookeeper.enabled) .usesZookeeper }}
    - ports:
        {{- range .root.Values.externalZookeeper.servers }}
        - {port: {{ regexFind "[0-9]+$" . }}}
        {{- end }}
    {{- end }}
{{- end -}}
{{- end -}}
