{{/* Prefix of all names; with the longest suffix it fits a label. */}}
{{- define "adjutant.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "adjutant" .Release.Name -}}
{{- .Release.Name | trunc 32 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-adjutant" (.Release.Name | trunc 23 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a release. */}}
{{- define "adjutant.selector" -}}
app.kubernetes.io/name: adjutant
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "adjutant.labels" -}}
{{ include "adjutant.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The groups of workers as a list of names, lanes and settings. */}}
{{- define "adjutant.workers" -}}
{{- $workers := list -}}
{{- $default := deepCopy .Values.worker -}}
{{- range $name, $group := .Values.workerGroups -}}
{{- $settings := mergeOverwrite (deepCopy $default) (omit $group "lanes") -}}
{{- $workers = append $workers (dict "group" $name "lanes" $group.lanes "settings" $settings) -}}
{{- else -}}
{{- $workers = append $workers (dict "group" "" "lanes" list "settings" $default) -}}
{{- end -}}
{{- toJson (dict "workers" $workers) -}}
{{- end -}}

{{/* Labels of the workers of a group, beside the selector of the release. */}}
{{- define "adjutant.workerLabels" -}}
app.kubernetes.io/component: worker
{{- with .group }}
adjutant.dev/lanes: {{ . }}
{{- end }}
{{- end -}}

{{- define "adjutant.workerName" -}}
{{ include "adjutant.name" .root }}-worker{{ with .worker.group }}-{{ . }}{{ end }}
{{- end -}}

{{/* Seconds from SIGTERM to SIGKILL: the drain, 8 s, and some more. */}}
{{- define "adjutant.grace" -}}
{{- $config := .root.Values.config -}}
{{- if eq .role "worker" -}}
{{- add 20 (divf (dig "worker" "drain_ms" 20000 $config) 1000 | ceil | int) -}}
{{- else if eq .role "engine" -}}
{{- add 15 (divf (dig "engine" "drain_ms" 5000 $config) 1000 | ceil | int) -}}
{{- else -}}
20
{{- end -}}
{{- end -}}

{{/* The groups of pods that have a budget and a policy, as a list of role, name, labels that select them, and the group of workers. */}}
{{- define "adjutant.pods" -}}
{{- $root := . -}}
{{- $pods := list -}}
{{- range $role := list "api" "engine" -}}
{{- $pods = append $pods (dict "role" $role "group" "" "name" (printf "%s-%s" (include "adjutant.name" $root) $role) "labels" (printf "app.kubernetes.io/component: %s" $role)) -}}
{{- end -}}
{{- range $worker := (include "adjutant.workers" . | fromJson).workers -}}
{{- $pods = append $pods (dict "role" "worker" "group" $worker.group "name" (include "adjutant.workerName" (dict "root" $root "worker" $worker)) "labels" (include "adjutant.workerLabels" $worker)) -}}
{{- end -}}
{{- toJson (dict "pods" $pods) -}}
{{- end -}}

{{/* metadata of what belongs to a group of pods: root, name, group. */}}
{{- define "adjutant.metadata" -}}
metadata:
  name: {{ .name }}
  labels:
    {{- include "adjutant.labels" .root | nindent 4 }}
    {{- with .group }}
    adjutant.dev/lanes: {{ . }}
    {{- end }}
{{- end -}}

{{/* Every address but link-local ones, where clouds serve credentials. */}}
{{- define "adjutant.outside" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    # Link-local, and the host agents of Azure and Alibaba Cloud.
    except: [169.254.0.0/16, 168.63.129.16/32, 100.100.100.200/32]
- ipBlock:
    cidr: ::/0
    # Link-local, and the metadata of AWS and Google Cloud.
    except: ['fe80::/10', 'fd00:ec2::/32', 'fd20:ce::/32']
{{- end -}}
