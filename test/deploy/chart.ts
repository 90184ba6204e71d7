// The Helm chart beside the kustomize manifests: the same installation is the same objects, so that the two cannot drift.
// Must never ignore a difference that is not named here.
import { deepStrictEqual } from 'node:assert';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './api-server.ts';
import { must, programPath, run } from './commands.ts';
import { demand } from './report.ts';

const CHART = 'deploy/helm/adjutant';
const EXAMPLE = ['--values', 'deploy/helm/example.yaml'];
/** A Helm that was built from source takes an old cluster for granted. */
const CLUSTER = ['--kube-version', '1.30.0'];
/** What has no kustomize manifest: Redis of an operator, secrets of a store, and every further key of a pod. */
const FURTHER = [
  ['redis.url', 'rediss://:$(REDIS_PASSWORD)@redis:6379'],
  ['redis.passwordSecret', 'redis-password'],
  ['redis.cidrs[0]', '10.1.0.0/16'],
  ['externalSecrets.enabled', 'true'],
  ['externalSecrets.store.name', 'vault'],
  ...['redis', 'access', 'providers'].map((name) => [`externalSecrets.${name}.key`, `adjutant/${name}`]),
  ['config.worker.drain_ms', '60000'],
  ['image.pullPolicy', 'Always'],
  ['image.pullSecrets[0].name', 'registry'],
  ['serviceAccount.annotations.example', 'text'],
  ['pod.annotations.example', 'text'],
  ['pod.nodeSelector.disk', 'fast'],
  ['pod.tolerations[0].operator', 'Exists'],
  ['pod.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution', 'null'],
  ['pod.priorityClassName', 'high'],
  ['pod.volumes[0].name', 'modules'],
  ['pod.volumes[0].configMap.name', 'modules'],
  ['pod.volumeMounts[0].name', 'modules'],
  ['pod.volumeMounts[0].mountPath', '/modules'],
].map(([key, value]) => ['--set', `${key}=${value}`]);
const REFUSED = [
  ['misspelt', '1'],
  ['api.replica', '2'],
  ['worker.minReplicas', '0'],
  ['redis.url', 'redis://:secret@redis:6379'],
  ['redis.url', 'http://redis'],
  ['workerGroups.tools.replicas', '2'],
];

/** Every object that the chart makes, in three installations. */
export function chartObjects(helm: string): Manifest[] {
  return [
    template(helm, []),
    template(helm, EXAMPLE),
    template(helm, [...EXAMPLE, ...FURTHER.flat()]),
  ].flat();
}

export function checkChart(helm: string): void {
  must(helm, ['lint', '--strict', CHART, ...CLUSTER]);
  must(helm, ['lint', '--strict', CHART, ...CLUSTER, ...EXAMPLE]);
  for (const [key, value] of REFUSED) {
    const { code, output } = run(helm, ['template', CHART, ...CLUSTER, '--set', `${key}=${value}`]);
    demand(
      code !== 0 && output.includes('meet the specifications of the schema'),
      `${key}=${value} is accepted`,
    );
  }
  checkFurther(template(helm, [...EXAMPLE, ...FURTHER.flat()]));
  const kustomize = programPath('kustomize');
  demand(kustomize !== null, 'kustomize is not installed: the chart is compared with nothing');
  const built = (path: string): Manifest[] =>
    parsed(must(kustomize ?? '', ['build', `deploy/kubernetes/${path}`]));
  // An overlay has adjutant.json.
  const isOfBase = ({ kind, metadata }: Manifest): boolean =>
    kind !== 'ConfigMap' || metadata.name !== 'adjutant-config';
  compare(template(helm, []).filter(isOfBase), [...built('base'), ...built('worker')]);
  compare(template(helm, EXAMPLE), built('overlays/example'));
  const isScaling = ({ kind }: Manifest): boolean => kind === 'ScaledObject';
  compare(template(helm, ['--set', 'keda.enabled=true']).filter(isScaling), built('keda'));
}

/** What the API server cannot judge: the wait of a longer drain, and who gets which secret. */
function checkFurther(objects: readonly Manifest[]): void {
  const deployments = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map((object) => JSON.stringify(object));
  demand(deployments.length === 4, 'not four Deployments');
  for (const text of deployments) {
    const role = /"args":\["(\w+)"/.exec(text)?.[1] ?? '';
    demand(
      text.includes('"name":"REDIS_PASSWORD"') && !text.includes('adjutant-redis'),
      `${role}: two addresses of Redis`,
    );
    demand(text.includes('adjutant-access') === (role === 'api'), `${role}: the key of the administrator`);
    demand(text.includes('adjutant-keys') === (role === 'worker'), `${role}: the keys of providers`);
    demand(role !== 'worker' || text.includes('"terminationGracePeriodSeconds":80'), 'a drain is cut off');
  }
}

function template(helm: string, args: readonly string[]): Manifest[] {
  const where = ['--namespace', 'adjutant', ...CLUSTER];
  return parsed(must(helm, ['template', 'adjutant', CHART, ...where, ...args]));
}

function parsed(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

function compare(chart: readonly Manifest[], manifests: readonly Manifest[]): void {
  deepStrictEqual(byName(chart), byName(manifests));
}

function byName(manifests: readonly Manifest[]): Record<string, unknown> {
  const named = manifests.map((manifest) => {
    const { kind, metadata } = plain(manifest, '') as Manifest;
    return [`${kind} ${metadata.name}`, plain(manifest, '')] as const;
  });
  return Object.fromEntries(named.toSorted(([one], [other]) => one.localeCompare(other)));
}

/** Labels that only Helm gives, its annotation in the place of kustomize's digest in names, and namespaces, which Helm sets as it installs. */
const ONLY_HELM =
  /^(?:app\.kubernetes\.io\/(?:instance|version|managed-by)|helm\.sh\/chart|checksum\/config|namespace)$/;
const DIGEST = /^(adjutant(?:-config)?)-[a-z0-9]{10}$/;
/** The base names no version of the image. */
const IMAGE = /^adjutant:.*$/;

function plain(value: unknown, key: string): unknown {
  if (typeof value === 'string') {
    if (key === 'adjutant.json') return JSON.parse(value);
    return value.replace(DIGEST, '$1').replace(IMAGE, 'adjutant');
  }
  if (Array.isArray(value)) return value.map((each) => plain(each, ''));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !ONLY_HELM.test(name));
  const entries = kept.map(([name, each]) => [name, plain(each, name)] as const);
  // Annotations of which nothing is left.
  return Object.fromEntries(
    entries.filter(([name, each]) => name !== 'annotations' || Object.keys(each as object).length > 0),
  );
}
