{{/* The Deployment of a role: root, role, name, args, labels (text), settings, isScaled. */}}
{{- define "adjutant.deployment" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels:
    {{- include "adjutant.labels" .root | nindent 4 }}
    {{- .labels | nindent 4 }}
spec:
  {{- if not .isScaled }}
  replicas: {{ .settings.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "adjutant.selector" .root | nindent 6 }}
      {{- .labels | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      annotations:
        # A changed configuration starts new pods.
        checksum/config: {{ include (print .root.Template.BasePath "/configuration.yaml") .root | sha256sum }}
        {{- with $values.pod.annotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      labels:
        {{- include "adjutant.selector" .root | nindent 8 }}
        {{- .labels | nindent 8 }}
    spec:
      serviceAccountName: {{ include "adjutant.name" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # A first process that collects what MCP servers leave behind.
      shareProcessNamespace: true
      terminationGracePeriodSeconds: {{ include "adjutant.grace" . }}
      {{- with $values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.pod.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
      {{- with index $values.pod $key }}
      {{ $key }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "adjutant.selector" .root | nindent 14 }}
              {{- .labels | nindent 14 }}
      containers:
        - name: {{ .role }}
          image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) }}
          {{- with $values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
          args: {{ toJson .args }}
          {{- include "adjutant.environment" . | nindent 10 }}
          ports:
            {{- if eq .role "api" }}
            - name: http
              containerPort: 7420
            {{- end }}
            - name: metrics
              containerPort: 7421
          startupProbe:
            httpGet:
              path: /healthz
              port: metrics
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet:
              path: /healthz
              port: metrics
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 6
          readinessProbe:
            httpGet:
              path: /readyz
              port: metrics
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          {{- if eq .role "api" }}
          lifecycle:
            preStop:
              # Until the endpoints know that it goes; then a stop takes at most 8 s.
              exec:
                command: ['sleep', '5']
          {{- end }}
          resources:
            {{- toYaml .settings.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ['ALL']
          volumeMounts:
            - name: config
              mountPath: /app/adjutant.json
              subPath: adjutant.json
              readOnly: true
            - name: tmp
              mountPath: /tmp
            {{- with $values.pod.volumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap:
            name: {{ $values.existingConfigMap | default (printf "%s-config" (include "adjutant.name" .root)) }}
        - name: tmp
          emptyDir:
            sizeLimit: 256Mi
        {{- with $values.pod.volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* Only workers get the keys of providers, only the API the key of its administrator. */}}
{{- define "adjutant.environment" -}}
{{- $values := .root.Values -}}
{{- with $values.redis.url -}}
env:
  {{- with $values.redis.passwordSecret }}
  - name: REDIS_PASSWORD
    valueFrom:
      secretKeyRef:
        name: {{ . }}
        key: {{ $values.redis.passwordKey }}
  {{- end }}
  - name: REDIS_URL
    value: {{ . | quote }}
{{ end -}}
envFrom:
  - configMapRef:
      name: {{ include "adjutant.name" .root }}
  {{- if not $values.redis.url }}
  - secretRef:
      name: {{ $values.redis.existingSecret }}
  {{- end }}
  {{- if eq .role "api" }}
  - secretRef:
      name: {{ $values.access.existingSecret }}
  {{- else if eq .role "worker" }}
  - secretRef:
      name: {{ $values.providers.existingSecret }}
      optional: true
  {{- end }}
{{- end -}}
