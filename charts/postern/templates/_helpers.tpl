{{- define "postern.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "postern.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "postern.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "postern.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Labels that never change: a Deployment's selector is immutable. */ -}}
{{- define "postern.selectorLabels" -}}
app.kubernetes.io/name: {{ include "postern.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "postern.labels" -}}
{{ include "postern.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: postern
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- include "postern.commonLabels" . }}
{{- end -}}

{{- define "postern.commonLabels" -}}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "postern.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The image and how it is pulled: a member that is empty is that of `global`, which both charts follow. */ -}}
{{- define "postern.imageValues" -}}
{{- $common := (.Values.global | default dict).image | default dict -}}
{{- $own := .Values.image -}}
{{- $version := ternary $own $common (not (empty (coalesce $own.tag $own.digest))) -}}
repository: {{ coalesce $own.repository $common.repository "" | quote }}
tag: {{ coalesce $version.tag .Chart.AppVersion | quote }}
digest: {{ $version.digest | default "" | quote }}
pullPolicy: {{ coalesce $own.pullPolicy $common.pullPolicy "IfNotPresent" }}
pullSecrets: {{ coalesce $own.pullSecrets $common.pullSecrets list | toJson }}
{{- end -}}

{{- define "postern.image" -}}
{{- with include "postern.imageValues" . | fromYaml -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "postern.imagePullPolicy" -}}
{{- (include "postern.imageValues" . | fromYaml).pullPolicy -}}
{{- end -}}

{{- define "postern.imagePullSecrets" -}}
{{- with (include "postern.imageValues" . | fromYaml).pullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- /* The roles that run, a dictionary of name to program and ports. */ -}}
{{- define "postern.roles" -}}
api: { program: api/main.ts, port: 8080, portName: API_PORT }
ingest: { program: dataplane/ingest/main.ts, port: 8081, portName: INGEST_PORT }
worker: { program: dataplane/worker/main.ts }
{{- if .Values.gateway.enabled }}
gateway: { program: dataplane/gateway/main.ts, port: 8082, portName: GATEWAY_PORT }
{{- end }}
housekeeper: { program: dataplane/housekeeper/main.ts }
{{- end -}}

{{- define "postern.securityContext" -}}
{{- toYaml .Values.containerSecurityContext -}}
{{- end -}}

{{- /* A value that a Secret holds, as a file: an environment shows in `describe`, crash dumps and child processes. */ -}}
{{- define "postern.secretVolume" -}}
{{- $sources := list -}}
{{- if not .Values.evaluation.enabled -}}
{{- $sources = append $sources (dict "secret" .Values.database.existingSecret "path" "database-url") -}}
{{- $sources = append $sources (dict "secret" .Values.nats.existingSecret "path" "nats-url") -}}
{{- end -}}
{{- $sources = append $sources (dict "secret" .Values.encryptionKey.existingSecret "path" "encryption-key") -}}
{{- if .Values.spool.existingSecret.name -}}
{{- $sources = append $sources (dict "secret" .Values.spool.existingSecret "path" "spool-nats-url") -}}
{{- end -}}
{{- if .Values.database.caSecret.name -}}
{{- $sources = append $sources (dict "secret" .Values.database.caSecret "path" "database-ca.crt") -}}
{{- end -}}
name: secrets
projected:
  defaultMode: 0440
  sources:
    {{- range $sources }}
    - secret:
        name: {{ .secret.name }}
        items: [{ key: {{ .secret.key | quote }}, path: {{ .path }} }]
    {{- end }}
{{- end -}}

{{- /* Environment of every role. */ -}}
{{- define "postern.env" -}}
{{- $full := include "postern.fullname" . -}}
{{- if .Values.evaluation.enabled }}
- name: POSTGRES_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.evaluation.postgresql.password.existingSecret.name }}
      key: {{ .Values.evaluation.postgresql.password.existingSecret.key | quote }}
- name: DATABASE_URL
  value: postgres://postern:$(POSTGRES_PASSWORD)@{{ $full }}-postgresql:5432/postern
- name: NATS_URL
  value: nats://{{ $full }}-nats:4222
{{- else }}
- { name: DATABASE_URL_FILE, value: /etc/postern/secrets/database-url }
- { name: NATS_URL_FILE, value: /etc/postern/secrets/nats-url }
{{- end }}
- { name: POSTERN_ENCRYPTION_KEY_FILE, value: /etc/postern/secrets/encryption-key }
{{- if .Values.database.caSecret.name }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/postern/secrets/database-ca.crt }
{{- end }}
- { name: DATABASE_POOL_MAX, value: {{ .Values.database.poolMax | quote }} }
{{- if .Values.spool.existingSecret.name }}
- { name: SPOOL_NATS_URL_FILE, value: /etc/postern/secrets/spool-nats-url }
{{- end }}
{{- with .Values.spool.replicas }}
- { name: SPOOL_REPLICAS, value: {{ . | quote }} }
{{- end }}
{{- if or .Values.spool.existingSecret.name .Values.spool.replicas }}
- { name: SPOOL_MAX_MB, value: {{ .Values.spool.maxMb | int64 | quote }} }
{{- end }}
{{- with .Values.urls.api }}
- { name: API_URL, value: {{ . | quote }} }
{{- end }}
- { name: INGEST_URL, value: {{ .Values.urls.ingest | default (printf "http://%s-ingest.%s.svc" $full .Release.Namespace) | quote }} }
- { name: INGEST_SERVICE_URL, value: {{ printf "http://%s-ingest.%s.svc:%d" $full .Release.Namespace (int .Values.ingest.service.port) | quote }} }
{{- if .Values.gateway.enabled }}
- { name: GATEWAY_URL, value: {{ .Values.urls.gateway | default (printf "ws://%s-gateway.%s.svc" $full .Release.Namespace) | quote }} }
{{- end }}
{{- if .Values.mail.enabled }}
- { name: SMTP_DOMAIN, value: {{ .Values.mail.domain | quote }} }
{{- end }}
{{- with .Values.settings }}
- { name: LOG_LEVEL, value: {{ .logLevel | quote }} }
{{- with .trustedProxies }}
- { name: TRUSTED_PROXIES, value: {{ join "," . | quote }} }
{{- end }}
{{- with .deliveryAllowCidrs }}
- { name: DELIVERY_ALLOW_CIDRS, value: {{ join "," . | quote }} }
{{- end }}
- { name: DEFAULT_PLAN, value: {{ .defaultPlan | quote }} }
- { name: KEY_PREFIX, value: {{ .keyPrefix | quote }} }
- { name: API_REQUESTS_PER_MINUTE, value: {{ .apiRequestsPerMinute | int64 | quote }} }
- { name: CONNECTIONS_PER_ADDRESS, value: {{ .connectionsPerAddress | int64 | quote }} }
- { name: CONNECTIONS_PER_SOURCE, value: {{ .connectionsPerSource | int64 | quote }} }
{{- if .plans }}
- { name: PLANS_FILE, value: /etc/postern/plans/plans.json }
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern.roleEnv" -}}
{{- $root := .root -}}
- name: INSTANCE_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- { name: OPS_PORT, value: '9090' }
{{- if .is.port }}
- { name: {{ .is.portName }}, value: {{ .is.port | quote }} }
{{- end }}
{{- if and $root.Values.mail.enabled (eq .role "ingest") }}
- { name: SMTP_PORT, value: '2525' }
{{- if $root.Values.mail.tlsSecretName }}
- { name: SMTP_TLS_CERT_FILE, value: /etc/postern/mail-tls/tls.crt }
- { name: SMTP_TLS_KEY_FILE, value: /etc/postern/mail-tls/tls.key }
{{- end }}
{{- end }}
{{ include "postern.env" $root | trim }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* A list by the member that the API server keys it by: a later item of a key takes the place of an earlier one. */ -}}
{{- define "postern.merged" -}}
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

{{- define "postern.volumeMounts" -}}
- { name: secrets, mountPath: /etc/postern/secrets, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- if .Values.settings.plans }}
- { name: plans, mountPath: /etc/postern/plans, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern.volumes" -}}
- {{- include "postern.secretVolume" . | nindent 2 }}
- { name: tmp, emptyDir: { sizeLimit: 64Mi } }
{{- if .Values.settings.plans }}
- { name: plans, configMap: { name: {{ include "postern.fullname" . }}-plans } }
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postern.roleVolumeMounts" -}}
{{- $mounts := include "postern.volumeMounts" .root | fromYamlArray -}}
{{- with .root.Values.mail -}}
{{- if and .enabled .tlsSecretName (eq $.role "ingest") -}}
{{- $mounts = append $mounts (dict "name" "mail-tls" "mountPath" "/etc/postern/mail-tls" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- $mounts = concat $mounts (.values.extraVolumeMounts | default list) -}}
{{- include "postern.merged" (dict "items" (toYaml $mounts) "by" "mountPath") -}}
{{- end -}}

{{- define "postern.roleVolumes" -}}
{{- $volumes := include "postern.volumes" .root | fromYamlArray -}}
{{- with .root.Values.mail -}}
{{- if and .enabled .tlsSecretName (eq $.role "ingest") -}}
{{- $secret := dict "secretName" .tlsSecretName "defaultMode" 0440 -}}
{{- $volumes = append $volumes (dict "name" "mail-tls" "secret" $secret) -}}
{{- end -}}
{{- end -}}
{{- $volumes = concat $volumes (.values.extraVolumes | default list) -}}
{{- include "postern.merged" (dict "items" (toYaml $volumes)) -}}
{{- end -}}

{{- /* The budget of a role: its own number takes the place of the common one. */ -}}
{{- define "postern.budget" -}}
{{- $own := (index .root.Values .role).podDisruptionBudget | default dict -}}
{{- $common := .root.Values.podDisruptionBudget -}}
{{- if or (hasKey $own "minAvailable") (hasKey $own "maxUnavailable") -}}
{{- $common = omit $common "minAvailable" "maxUnavailable" -}}
{{- end -}}
{{- $budget := merge dict $own $common -}}
{{- if hasKey $own "enabled" }}{{ $_ := set $budget "enabled" $own.enabled }}{{ end -}}
{{- if hasKey $budget "minAvailable" }}{{ $budget = omit $budget "maxUnavailable" }}{{ end -}}
{{- toYaml $budget -}}
{{- end -}}

{{- /* Members of a pod that no role needs of its own. */ -}}
{{- define "postern.podBase" -}}
serviceAccountName: {{ include "postern.serviceAccountName" . | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with include "postern.imagePullSecrets" . }}
{{ . }}
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
{{- end -}}

{{- /* Says in one sentence which value is missing. */ -}}
{{- define "postern.refuse" -}}
{{- if not (include "postern.imageValues" . | fromYaml).repository -}}
{{- fail "image.repository: is missing. Name where your image of Postern lies, registry.example.com/postern; with operator.enabled name it as global.image.repository, for both charts" -}}
{{- end -}}
{{- if and .Values.mail.enabled (not .Values.mail.domain) -}}
{{- fail "mail.domain: is missing. Set it to the domain of the addresses of email sources: hooks.example.com" -}}
{{- end -}}
{{- if not .Values.encryptionKey.existingSecret.name -}}
{{- fail "encryptionKey.existingSecret.name: is missing. Name a Secret that holds base64 of 32 random bytes: kubectl create secret generic postern --from-literal=encryption-key=$(openssl rand -base64 32)" -}}
{{- end -}}
{{- if .Values.evaluation.enabled -}}
{{- if not .Values.evaluation.postgresql.password.existingSecret.name -}}
{{- fail "evaluation.postgresql.password.existingSecret.name: is missing. Name a Secret that holds a password for the PostgreSQL of the evaluation" -}}
{{- end -}}
{{- else -}}
{{- range $name := list "database" "nats" -}}
{{- if not (index $.Values $name "existingSecret" "name") -}}
{{- fail (printf "%s.existingSecret.name: is missing. Name a Secret that holds the URL, or set evaluation.enabled to try Postern with services of its own" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $role, $_ := include "postern.roles" . | fromYaml -}}
{{- with (index $.Values $role).autoscaling -}}
{{- $least := .minReplicas | default 2 | int -}}
{{- $most := .maxReplicas | default 10 | int -}}
{{- if and .enabled (gt $least $most) -}}
{{- fail (printf "%s.autoscaling.minReplicas: is %d, and maxReplicas %d. It must not be above it" $role $least $most) -}}
{{- end -}}
{{- if and .enabled (not (include "postern.scalingMetrics" .)) -}}
{{- fail (printf "%s.autoscaling: scales on nothing. Set targetCpuUtilization, targetMemoryUtilization or metrics" $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled -}}
{{- fail "podMonitor.enabled: is true beside serviceMonitor.enabled. Prometheus would scrape each pod twice" -}}
{{- end -}}
{{- include "postern.refuseFronts" . -}}
{{- include "postern.refuseServices" . -}}
{{- end -}}
