{{- /* Members of `ingress` or `gatewayApi` as a role has them: its own win, and annotations are merged. */ -}}
{{- define "postern.front" -}}
{{- $common := index .root.Values .kind -}}
{{- $own := index .root.Values .role .kind | default dict -}}
{{- $front := dict -}}
{{- range $name, $value := $common }}{{ $_ := set $front $name $value }}{{ end -}}
{{- range $name, $value := $own -}}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $front $name $value }}{{ end -}}
{{- end -}}
{{- if hasKey $own "timeouts" }}{{ $_ := set $front "timeouts" $own.timeouts }}{{ end -}}
{{- $_ := set $front "annotations" (merge dict ($own.annotations | default dict) ($common.annotations | default dict)) -}}
{{- toYaml $front -}}
{{- end -}}

{{- /* The roles that `.kind` leads to, a dictionary of name to its members. */ -}}
{{- define "postern.fronts" -}}
{{- $fronts := dict -}}
{{- $roles := include "postern.roles" .root | fromYaml -}}
{{- range $role, $is := $roles -}}
{{- if $is.port -}}
{{- $front := include "postern.front" (dict "root" $.root "kind" $.kind "role" $role) | fromYaml -}}
{{- if $front.enabled }}{{ $_ := set $fronts $role $front }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $fronts -}}
{{- end -}}

{{- define "postern.host" -}}
{{- (urlParse (index .root.Values.urls .role)).hostname -}}
{{- end -}}

{{- define "postern.refuseFronts" -}}
{{- range $kind := list "ingress" "gatewayApi" -}}
{{- $issued := dict -}}
{{- range $role, $front := include "postern.fronts" (dict "root" $ "kind" $kind) | fromYaml -}}
{{- if not (index $.Values.urls $role) -}}
{{- fail (printf "urls.%s: is missing. %s needs its host, or set %s.%s.enabled to false" $role $kind $role $kind) -}}
{{- end -}}
{{- $host := include "postern.host" (dict "root" $ "role" $role) -}}
{{- if regexMatch "^[0-9.]+$|:" $host -}}
{{- fail (printf "urls.%s: has the address %s. %s needs a name" $role $host $kind) -}}
{{- end -}}
{{- if and (eq $kind "gatewayApi") (not $front.parentRefs) -}}
{{- fail (printf "gatewayApi.parentRefs: is missing. Name the Gateway that the route of %s belongs to, here or as %s.gatewayApi.parentRefs" $role $role) -}}
{{- end -}}
{{- if and $front.tlsHosts (not $front.tlsSecretName) -}}
{{- fail (printf "%s.ingress.tlsHosts: needs tlsSecretName, the Secret of their certificate" $role) -}}
{{- end -}}
{{- $isIssued := or (hasKey $front.annotations "cert-manager.io/cluster-issuer") (hasKey $front.annotations "cert-manager.io/issuer") -}}
{{- if and $front.tlsSecretName $isIssued -}}
{{- if hasKey $issued $front.tlsSecretName -}}
{{- fail (printf "%s.ingress.tlsSecretName: is also that of %s. cert-manager makes a Certificate for each Ingress, so each needs a Secret of its own" $role (index $issued $front.tlsSecretName)) -}}
{{- end -}}
{{- $_ := set $issued $front.tlsSecretName $role -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
