{{/* Where clients outside of the cluster find a broker: dict root index */}}
{{- define "tidelog.externalPort" -}}
{{- $service := .root.Values.externalAccess.broker.service -}}
{{- if eq $service.type "NodePort" -}}
{{- if le (len $service.nodePorts) .index -}}
{{- fail (printf "externalAccess.broker.service.nodePorts has %d ports, and broker %d of broker.replicaCount=%d needs one" (len $service.nodePorts) .index (int .root.Values.broker.replicaCount)) -}}
{{- end -}}
{{- index $service.nodePorts .index -}}
{{- else if eq $service.type "ClusterIP" -}}
{{- add (int $service.ports.external) .index -}}
{{- else -}}
{{- int $service.ports.external -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.externalHost" -}}
{{- $service := .root.Values.externalAccess.broker.service -}}
{{- if gt (len $service.loadBalancerNames) .index -}}
{{- index $service.loadBalancerNames .index -}}
{{- else if and $service.domain (ne $service.type "LoadBalancer") -}}
{{- $service.domain -}}
{{- else if $service.domain -}}
{{- printf "%s-broker-%d.%s" (include "tidelog.fullname" .root) .index $service.domain -}}
{{- else -}}
{{- fail (printf "externalAccess is enabled, so externalAccess.broker.service.domain or loadBalancerNames[%d] must tell what broker %d is called outside of the cluster" .index .index) -}}
{{- end -}}
{{- end -}}

{{- define "tidelog.externalAddress" -}}
{{- printf "%s:%s" (include "tidelog.externalHost" .) (include "tidelog.externalPort" .) -}}
{{- end -}}
