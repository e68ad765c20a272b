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
{{- end -}}

{{- define "postern-connector.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "postern-connector.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "postern-connector.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* Members of a pod that operator and agent share; `.of` holds the values of the one that runs. */ -}}
{{- define "postern-connector.pod" -}}
{{- $full := include "postern-connector.fullname" . -}}
{{- $of := index .Values .Values.mode -}}
serviceAccountName: {{ include "postern-connector.serviceAccountName" . | quote }}
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
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
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "postern-connector.selectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end -}}

{{- define "postern-connector.container" -}}
{{- $of := index .Values .Values.mode -}}
name: {{ .Values.mode }}
image: {{ include "postern-connector.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
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
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}
