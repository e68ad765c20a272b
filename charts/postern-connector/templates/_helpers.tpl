{{- define "postern-connector.name" -}}
{{- default "postern-connector" .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "postern-connector.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "postern-connector.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "postern-connector.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "postern-connector.selectorLabels" -}}
app.kubernetes.io/name: {{ include "postern-connector.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: {{ .Values.mode }}
{{- end -}}

{{- define "postern-connector.labels" -}}
{{ include "postern-connector.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: postern
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "postern-connector-%s" .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern-connector.podLabels" -}}
{{- $own := include "postern-connector.selectorLabels" . | fromYaml -}}
{{- $labels := include "postern-connector.labels" . | fromYaml -}}
{{- toYaml (merge dict $own ((index .Values .Values.mode).podLabels | default dict) $labels) -}}
{{- end -}}

{{- /* A list by the member that the API server keys it by: a later item of a key takes the place of an earlier one. */ -}}
{{- define "postern-connector.merged" -}}
{{- $items := dict -}}
{{- $names := list -}}
{{- $by := .by | default "name" -}}
{{- range fromYamlArray .items -}}
{{- $name := index . $by -}}
{{- if not (hasKey $items $name) }}{{ $names = append $names $name }}{{ end -}}
{{- $_ := set $items $name . -}}
{{- end -}}
{{- $merged := list -}}
{{- range $names }}{{ $merged = append $merged (get $items .) }}{{ end -}}
{{- toYaml $merged -}}
{{- end -}}

{{- define "postern-connector.agentEnv" -}}
{{- $of := .Values.agent -}}
- name: INSTANCE_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
# Whatever family it is of, the kubelet and Prometheus reach the pod there and nowhere else.
- name: HOST
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- { name: OPS_PORT, value: '9090' }
- { name: POSTERN_URL, value: {{ $of.relayUrl | quote }} }
- { name: POSTERN_ENROLLMENT_KEY_FILE, value: /etc/postern/enrollment/key }
- { name: POSTERN_ALLOW, value: {{ join "," $of.allow | quote }} }
- { name: STATE_DIR, value: /var/lib/postern }
- { name: LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
{{- if $of.caSecret.name }}
- { name: RELAY_CA_FILE, value: /etc/postern/relay-ca/ca.crt }
{{- end }}
{{- if $of.destinationCaSecret.name }}
- { name: DESTINATION_CA_FILE, value: /etc/postern/destination-ca/ca.crt }
{{- end }}
{{- if $of.clientCertSecret }}
- { name: CLIENT_CERT_FILE, value: /etc/postern/client/tls.crt }
- { name: CLIENT_KEY_FILE, value: /etc/postern/client/tls.key }
{{- end }}
{{- with $of.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern-connector.operatorEnv" -}}
{{- $of := .Values.operator -}}
- name: INSTANCE_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
# Whatever family it is of, the kubelet and Prometheus reach the pod there and nowhere else.
- name: HOST
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- { name: OPS_PORT, value: '9090' }
- { name: LEASE_NAME, value: {{ include "postern-connector.fullname" . | quote }} }
- { name: CONNECTOR_IMAGE, value: {{ $of.connectorImage | default (include "postern-connector.image" .) | quote }} }
- { name: RELAY_POLL_SECONDS, value: {{ $of.relayPollSeconds | quote }} }
- { name: LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
{{- with $of.watchNamespaces }}
- { name: WATCH_NAMESPACES, value: {{ join "," . | quote }} }
{{- end }}
{{- with $of.allowedRelays }}
- { name: ALLOWED_RELAYS, value: {{ join "," . | quote }} }
{{- end }}
{{- with $of.allowedTemplateMembers }}
- { name: ALLOWED_TEMPLATE_MEMBERS, value: {{ join "," . | quote }} }
{{- end }}
{{- with $of.clusterId }}
- { name: CLUSTER_ID, value: {{ . | quote }} }
{{- end }}
{{- with $of.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern-connector.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "postern-connector.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The image and how it is pulled: a member that is empty is that of `global`, which the chart postern follows too. */ -}}
{{- define "postern-connector.imageValues" -}}
{{- $common := (.Values.global | default dict).image | default dict -}}
{{- $own := .Values.image -}}
{{- $version := ternary $own $common (not (empty (coalesce $own.tag $own.digest))) -}}
repository: {{ coalesce $own.repository $common.repository "" | quote }}
tag: {{ coalesce $version.tag .Chart.AppVersion | quote }}
digest: {{ $version.digest | default "" | quote }}
pullPolicy: {{ coalesce $own.pullPolicy $common.pullPolicy "IfNotPresent" }}
pullSecrets: {{ coalesce $own.pullSecrets $common.pullSecrets list | toJson }}
{{- end -}}

{{- define "postern-connector.image" -}}
{{- with include "postern-connector.imageValues" . | fromYaml -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "postern-connector.imagePullPolicy" -}}
{{- (include "postern-connector.imageValues" . | fromYaml).pullPolicy -}}
{{- end -}}

{{- define "postern-connector.imagePullSecrets" -}}
{{- with (include "postern-connector.imageValues" . | fromYaml).pullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "postern-connector.refuse" -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- fail "podMonitor.enabled: is true beside serviceMonitor.enabled. Prometheus would scrape each pod twice" -}}
{{- end -}}
{{- if and .Values.agentPodMonitor.enabled (ne .Values.mode "operator") -}}
{{- fail "agentPodMonitor.enabled: is of agents that an operator runs. Set podMonitor.enabled for those of this release" -}}
{{- end -}}
{{- if not (include "postern-connector.imageValues" . | fromYaml).repository -}}
{{- fail (ternary
  "image.repository: is missing. Name where your image of Postern lies: registry.example.com/postern"
  "global.image.repository: is missing. Name there where your image of Postern lies, registry.example.com/postern, for both charts"
  .Chart.IsRoot) -}}
{{- end -}}
{{- end -}}

{{- /* Members of a pod that operator and agent share; `.of` holds the values of the one that runs. */ -}}
{{- define "postern-connector.pod" -}}
{{- $full := include "postern-connector.fullname" . -}}
{{- $of := index .Values .Values.mode -}}
serviceAccountName: {{ include "postern-connector.serviceAccountName" . | quote }}
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with include "postern-connector.imagePullSecrets" . }}
{{ . }}
{{- end }}
{{- with $of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $of.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $of.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $of.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if $of.topologySpreadConstraints }}
  {{- toYaml $of.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "postern-connector.selectorLabels" $ | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{- define "postern-connector.container" -}}
{{- $of := index .Values .Values.mode -}}
name: {{ .Values.mode }}
image: {{ include "postern-connector.image" . | quote }}
imagePullPolicy: {{ include "postern-connector.imagePullPolicy" . }}
ports: [{ name: ops, containerPort: 9090 }]
startupProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 2
  # A node that starts many pods at once is slow.
  failureThreshold: 90
# Neither the relay nor the API server is a reason to restart.
livenessProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: 2
resources: {{- toYaml $of.resources | nindent 2 }}
securityContext: {{- toYaml .Values.containerSecurityContext | nindent 2 }}
{{- end -}}

{{- define "postern-connector.volumes" -}}
{{- $all := concat (fromYamlArray .items) .root.Values.extraVolumes -}}
{{- include "postern-connector.merged" (dict "items" (toYaml $all)) -}}
{{- end -}}

{{- define "postern-connector.volumeMounts" -}}
{{- $all := concat (fromYamlArray .items) .root.Values.extraVolumeMounts -}}
{{- include "postern-connector.merged" (dict "items" (toYaml $all) "by" "mountPath") -}}
{{- end -}}
