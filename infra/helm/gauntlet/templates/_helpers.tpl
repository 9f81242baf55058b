{{- define "gauntlet.labels" -}}
app.kubernetes.io/name: gauntlet
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "gauntlet.serviceAccount" -}}
{{ .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{- /* Temporal Cloud and mutual TLS both need TLS. */}}
{{- define "gauntlet.tls" -}}
{{- with .Values.temporal }}{{ if or .tls .apiKeySecret .tlsSecret }}true{{ end }}{{ end -}}
{{- end }}

{{- define "gauntlet.env" -}}
{{- $temporal := .Values.temporal -}}
- { name: TEMPORAL_ADDRESS, value: {{ required "temporal.address: name the server, host:port" $temporal.address | quote }} }
- { name: TEMPORAL_NAMESPACE, value: {{ $temporal.namespace | quote }} }
{{- if include "gauntlet.tls" . }}
- { name: TEMPORAL_TLS, value: "true" }
{{- end }}
{{- with $temporal.apiKeySecret }}
- { name: TEMPORAL_API_KEY, valueFrom: { secretKeyRef: { name: {{ . }}, key: api-key } } }
{{- end }}
{{- if $temporal.tlsSecret }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /secrets/temporal/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /secrets/temporal/tls.key }
{{- if $temporal.tlsAuthority }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /secrets/temporal/ca.crt }
{{- end }}
{{- end }}
- { name: GAUNTLET_STORE, value: {{ required "store: name a bucket, s3://BUCKET/PREFIX" .Values.store | quote }} }
{{- if not (hasPrefix "s3://" .Values.store) }}
{{- fail "store: pods on several nodes need a bucket, s3://BUCKET/PREFIX" }}
{{- end }}
{{- with .Values.codecSecret }}
- { name: GAUNTLET_CODEC_KEYS, value: /secrets/codec/keys }
{{- end }}
{{- with .Values.buildId }}
- { name: GAUNTLET_BUILD_ID, value: {{ . | quote }} }
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A command that succeeds if this worker polls the server; one word per line. */}}
{{- define "gauntlet.polls" -}}
node
-e
fetch('http://127.0.0.1:9464/metrics').then(async (page) => process.exit(/^temporal_num_pollers.* [1-9]/m.test(await page.text()) ? 0 : 1), () => process.exit(1))
{{- end }}
