{{- define "tidelog.zooCfg" -}}
{{- $values := .Values.zookeeper -}}
{{- $settings := dict "tickTime" $values.tickTime "initLimit" 20 "syncLimit" 5 "maxSessionTimeout" $values.maxSessionTimeout -}}
{{- $settings = merge $settings (dict "clientPort" 2181 "dataDir" "/var/lib/zookeeper/data" "maxClientCnxns" 0) -}}
{{- $settings = merge $settings (dict "autopurge.snapRetainCount" 3 "autopurge.purgeInterval" 1 "admin.enableServer" false) -}}
{{- $settings = merge $settings (dict "4lw.commands.whitelist" "srvr,ruok,mntr" "quorumListenOnAllIPs" true) -}}
{{- include "tidelog.properties" (mergeOverwrite $settings $values.extraConfiguration) | trim -}}
{{- if gt (int $values.replicaCount) 1 -}}
{{- $domain := include "tidelog.podDomain" (dict "root" . "component" "zookeeper") -}}
{{- range $index := until (int $values.replicaCount) }}
server.{{ add1 $index }}={{ include "tidelog.fullname" $ }}-zookeeper-{{ $index }}.{{ $domain }}:2888:3888;2181
{{- end }}
{{- end -}}
{{- end -}}

{{/* Asks the server itself: its port is open before it serves, and a server without a quorum has no mode. */}}
{{- define "tidelog.zookeeperProbe" -}}
exec:
  command: [bash, -c, "exec 3<>/dev/tcp/127.0.0.1/2181; echo srvr >&3; grep -q ^Mode <&3"]
{{ omit . "enabled" | toYaml }}
{{- end -}}

{{- define "tidelog.zookeeperProbes" -}}
{{- if .startupProbe.enabled }}
startupProbe: {{- include "tidelog.zookeeperProbe" .startupProbe | nindent 2 }}
{{- end }}
{{- if .readinessProbe.enabled }}
readinessProbe: {{- include "tidelog.zookeeperProbe" .readinessProbe | nindent 2 }}
{{- end }}
{{- if .livenessProbe.enabled }}
livenessProbe:
  tcpSocket: {port: client}
  {{- omit .livenessProbe "enabled" | toYaml | nindent 2 }}
{{- end }}
{{- end -}}
