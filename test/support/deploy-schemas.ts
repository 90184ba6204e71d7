/** The keys that files of deploy/ may have: strict, so that a misspelt one is refused.
 *  It must not list more than is used: what Kubernetes and Compose know beyond it is added with its first use. */
import * as z from 'zod';

const text = z.string();
const whole = z.int();
const texts = z.array(text);
const textMap = z.record(text, text);
const strict = z.strictObject;
const port = z.union([whole, text]);

const metadata = strict({ name: text, labels: textMap.optional() });
const selector = strict({ matchLabels: textMap });

const probe = strict({
  httpGet: strict({ path: z.enum(['/healthz', '/readyz']), port }),
  periodSeconds: whole,
  timeoutSeconds: whole.optional(),
  failureThreshold: whole,
});

const container = strict({
  name: text,
  image: z.literal('adjutant'),
  args: texts,
  envFrom: z.array(
    strict({
      configMapRef: strict({ name: text }).optional(),
      secretRef: strict({ name: text, optional: z.boolean().optional() }).optional(),
    }),
  ),
  ports: z.array(strict({ name: text, containerPort: whole })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: strict({ preStop: strict({ exec: strict({ command: texts }) }) }).optional(),
  resources: strict({
    requests: strict({ cpu: text, memory: text }),
    limits: strict({ memory: text }),
  }),
  securityContext: strict({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: strict({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(
    strict({ name: text, mountPath: text, subPath: text.optional(), readOnly: z.boolean().optional() }),
  ),
});

const pod = strict({
  serviceAccountName: text,
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  shareProcessNamespace: z.literal(true),
  terminationGracePeriodSeconds: whole,
  securityContext: strict({
    runAsNonRoot: z.literal(true),
    runAsUser: whole,
    runAsGroup: whole,
    fsGroup: whole,
    seccompProfile: strict({ type: z.literal('RuntimeDefault') }),
  }),
  topologySpreadConstraints: z.array(
    strict({
      maxSkew: whole,
      topologyKey: text,
      whenUnsatisfiable: z.literal('ScheduleAnyway'),
      labelSelector: selector,
    }),
  ),
  containers: z.tuple([container]),
  volumes: z.array(
    strict({
      name: text,
      configMap: strict({ name: text }).optional(),
      emptyDir: strict({ sizeLimit: text }).optional(),
    }),
  ),
});

const deploymentSchema = strict({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: strict({
    replicas: whole,
    selector,
    strategy: strict({
      type: z.literal('RollingUpdate'),
      rollingUpdate: strict({ maxSurge: whole, maxUnavailable: whole }),
    }),
    template: strict({ metadata: strict({ labels: textMap }), spec: pod }),
  }),
});

const matchExpressions = z.array(strict({ key: text, operator: z.literal('In'), values: texts })).optional();
const choice = strict({ matchLabels: textMap.optional(), matchExpressions });
const peer = strict({
  namespaceSelector: selector.partial().optional(),
  podSelector: choice.optional(),
  ipBlock: strict({ cidr: text, except: texts }).optional(),
});
const policyPort = strict({ port, protocol: z.enum(['TCP', 'UDP']).optional() });

const networkPolicySchema = strict({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('NetworkPolicy'),
  metadata,
  spec: strict({
    podSelector: choice,
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
    ingress: z.array(strict({ from: z.array(peer), ports: z.array(policyPort) })).optional(),
    egress: z
      .array(strict({ to: z.array(peer).optional(), ports: z.array(policyPort).optional() }))
      .optional(),
  }),
});

const disruptionSchema = strict({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: strict({
    maxUnavailable: whole,
    unhealthyPodEvictionPolicy: z.literal('AlwaysAllow'),
    selector,
  }),
});

const serviceSchema = strict({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: strict({
    type: z.literal('ClusterIP'),
    selector: textMap,
    ports: z.array(strict({ name: text, port: whole, targetPort: port })),
  }),
});

const ingressSchema = strict({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('Ingress'),
  metadata: strict({ name: text, annotations: textMap }),
  spec: strict({
    ingressClassName: text,
    tls: z.array(strict({ hosts: texts, secretName: text })).min(1),
    rules: z.array(
      strict({
        host: text,
        http: strict({
          paths: z.array(
            strict({
              path: text,
              pathType: z.literal('Prefix'),
              backend: strict({ service: strict({ name: text, port: strict({ name: text }) }) }),
            }),
          ),
        }),
      }),
    ),
  }),
});

const accountSchema = strict({
  apiVersion: z.literal('v1'),
  kind: z.literal('ServiceAccount'),
  metadata,
  automountServiceAccountToken: z.literal(false),
});

const scalingRules = strict({
  stabilizationWindowSeconds: whole,
  policies: z.array(strict({ type: z.enum(['Percent', 'Pods']), value: whole, periodSeconds: whole })),
});

const scaledObjectSchema = strict({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('ScaledObject'),
  metadata,
  spec: strict({
    scaleTargetRef: strict({ name: text }),
    minReplicaCount: z.int().min(1),
    maxReplicaCount: whole,
    pollingInterval: whole,
    cooldownPeriod: whole,
    fallback: strict({ failureThreshold: whole, replicas: whole }),
    advanced: strict({
      horizontalPodAutoscalerConfig: strict({
        behavior: strict({ scaleUp: scalingRules, scaleDown: scalingRules }),
      }),
    }),
    triggers: z.array(
      strict({
        type: z.literal('prometheus'),
        metadata: strict({ serverAddress: z.url(), query: text, threshold: text, ignoreNullValues: text }),
      }),
    ),
  }),
});

const generator = strict({
  name: text,
  behavior: z.literal('merge').optional(),
  literals: texts.optional(),
  files: texts.optional(),
});

const kustomizationSchema = strict({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: text.optional(),
  nameSuffix: text.optional(),
  labels: z.array(strict({ pairs: textMap, includeSelectors: z.boolean() })).optional(),
  resources: texts,
  images: z.array(strict({ name: text, newName: text, newTag: text })).optional(),
  configMapGenerator: z.array(generator).optional(),
  patches: z.array(strict({ target: strict({ kind: text }), patch: text })).optional(),
});

export const manifestSchema = z.discriminatedUnion('kind', [
  deploymentSchema,
  networkPolicySchema,
  disruptionSchema,
  serviceSchema,
  ingressSchema,
  accountSchema,
  scaledObjectSchema,
  kustomizationSchema,
]);

export type Manifest = z.infer<typeof manifestSchema>;

const condition = z.enum(['service_healthy', 'service_started']);

const composeService = strict({
  image: text.optional(),
  build: text.optional(),
  profiles: texts.optional(),
  hostname: text.optional(),
  user: z.literal('redis').optional(),
  networks: z.array(z.enum(['default', 'redis'])).optional(),
  mem_limit: text.optional(),
  command: texts.optional(),
  environment: textMap.optional(),
  depends_on: z.union([texts, z.record(text, strict({ condition }))]).optional(),
  init: z.boolean().optional(),
  restart: z.enum(['unless-stopped', 'no']).optional(),
  read_only: z.boolean().optional(),
  tmpfs: texts.optional(),
  cap_drop: texts.optional(),
  security_opt: texts.optional(),
  volumes: texts.optional(),
  ports: z.array(text.regex(/^127\.0\.0\.1:/, 'must be bound to 127.0.0.1')).optional(),
  healthcheck: strict({ test: texts, interval: text, timeout: text, retries: whole }).optional(),
  deploy: strict({ mode: z.literal('replicated'), replicas: whole }).optional(),
  stop_grace_period: text.regex(/^\d+s$/).optional(),
});

/** What starts with `x-` is a part that others take over. */
export const composeSchema = strict({
  name: z.literal('adjutant'),
  services: z.record(text, composeService),
  networks: strict({ default: z.null(), redis: strict({ internal: z.literal(true) }) }).optional(),
  volumes: z.record(text, z.null()),
});
