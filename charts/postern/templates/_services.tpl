{{- define "postern.serviceMembers" -}}
type: {{ .type }}
{{- if ne .type "ClusterIP" }}
# Limits count addresses of senders, and SPF judges them: a node that passes a connection on puts its own in their place.
externalTrafficPolicy: {{ .externalTrafficPolicy | default "Local" }}
{{- end }}
{{- with .loadBalancerClass }}
loadBalancerClass: {{ . | quote }}
{{- end }}
{{- with .loadBalancerSourceRanges }}
loadBalancerSourceRanges: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Members that the API server refuses for a type of Service. */ -}}
{{- define "postern.refuseServices" -}}
{{- range $name := list "api" "ingest" "gateway" "mail" -}}
{{- with (index $.Values $name).service -}}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") -}}
{{- fail (printf "%s.service.externalTrafficPolicy: needs the type LoadBalancer or NodePort" $name) -}}
{{- end -}}
{{- range $member := list "loadBalancerClass" "loadBalancerSourceRanges" -}}
{{- if and (index $.Values $name "service" $member) (ne (index $.Values $name "service" "type") "LoadBalancer") -}}
{{- fail (printf "%s.service.%s: needs the type LoadBalancer" $name $member) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .ipFamilyPolicy "SingleStack") (gt (len .ipFamilies) 1) -}}
{{- fail (printf "%s.service.ipFamilies: has two, and ipFamilyPolicy is SingleStack" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
