// The Terraform example beside the other installations: the same roles, ports, health checks, stops, permissions and environment.
// Must never repeat a value that a file of the repository has.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { environmentSchema } from '../../src/config/environment.ts';
import { LONGEST_WAIT_MS } from '../../src/contract/operations/operation.ts';
import { IDLE_CONNECTION_MS } from '../../src/http/api.ts';
import { isClusterUrl, redisUrlFault } from '../../src/platform/redis/address.ts';
import type { Example } from './terraform-example.ts';
import { type Body, type Json, textOf } from './terraform-schema.ts';

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [
    {
      readonly args: readonly [string];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly livenessProbe: {
        readonly httpGet: { readonly path: string };
        readonly failureThreshold: number;
      };
      readonly resources: { readonly limits: { readonly memory: string } };
    },
  ];
}

type Fact = readonly [what: string, found: unknown, expected: unknown];

const KUBERNETES = ['base/api', 'base/engine', 'worker/worker'];
/** The variable that names the configuration file is read before the others. */
const VARIABLES = ['ADJUTANT_CONFIG', ...Object.keys(environmentSchema.shape)];

export function installationFaults(example: Example): string[] {
  const facts = [
    ...roleFacts(example),
    ...containerFacts(example),
    ...balancerFacts(example),
    ...redisFacts(example),
  ];
  const named = new Set(example.text.match(/\b(?:ADJUTANT|OTEL|REDIS)_\w+/g));
  return [
    ...facts
      .map(([what, ...values]) => [what, ...values.map((value) => JSON.stringify(value))] as const)
      .filter(([, found, expected]) => found !== expected)
      .map(([what, found, expected]) => `${what} is ${found}, not ${expected}`),
    ...[...named].filter((name) => !VARIABLES.includes(name)).map((name) => `no role reads ${name}`),
  ];
}

/** The value at a place such as `aws_lb.api.idle_timeout`. */
function at({ resources }: Example, place: string): Json | undefined {
  const [kind, name, ...path] = place.split('.');
  const body: Json | undefined = resources.get(`${kind}.${name}`);
  return path.reduce<Json | undefined>(
    (value, key) => (value as Record<string, Json> | undefined)?.[key],
    body,
  );
}

function pods(): Pod[] {
  return KUBERNETES.map((name) => {
    const text = readFileSync(`deploy/kubernetes/${name}.yaml`, 'utf8');
    return (parse(text) as { spec: { template: { spec: Pod } } }).spec.template.spec;
  });
}

function roleFacts(example: Example): Fact[] {
  const { variables, locals } = example;
  const { default: sizes } = variables['roles'] as { default: Record<string, { memory: number }> };
  const all = pods();
  const ports = all.flatMap(({ containers }) => containers[0].ports);
  const port = (name: string) => ports.find((each) => each.name === name)?.containerPort;
  const limits = all.map(({ containers }) => containers[0].resources.limits.memory);
  const mebibytes = limits.map((text) => Number.parseInt(text, 10) * (text.endsWith('Gi') ? 1_024 : 1));
  const small = Object.values(sizes).filter(({ memory }, index) => memory < (mebibytes[index] ?? Infinity));
  const seconds = Object.values(locals['stop_seconds'] as Body).map(stopSeconds);
  const order = ['aws_ecs_service.inner.wait_for_steady_state', 'aws_ecs_service.api.depends_on.0'];
  return [
    ['roles', Object.keys(sizes), all.map(({ containers }) => containers[0].args[0])],
    ['memory', small, []],
    ['stop', seconds, all.map((pod) => pod.terminationGracePeriodSeconds)],
    ['api_port', locals['api_port'], port('http')],
    ['metrics_port', locals['metrics_port'], port('metrics')],
    ['order', order.map((place) => at(example, place)), [true, '${aws_ecs_service.inner}']],
  ];
}

/** Seconds with the default of the drain. */
function stopSeconds(value: Json): number {
  const [, more = value, drainMs = 0] =
    /^\$\{(\d+) \+ ceil\(try\([\w.]+, (\d+)\) \/ 1000\)\}$/.exec(textOf(value)) ?? [];
  return Number(more) + Number(drainMs) / 1_000;
}

function containerFacts({ containers: [prepare = {}, role = {}] }: Example): Fact[] {
  const [, flags = '', command = ''] =
    /^HEALTHCHECK (.*) CMD (.*)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const seconds = (name: string): number => Number(new RegExp(`--${name}=(\\d+)`).exec(flags)?.[1]);
  const healthCheck = {
    command: ['CMD', ...(JSON.parse(command) as string[])],
    interval: seconds('interval'),
    retries: seconds('retries'),
    startPeriod: seconds('start-period'),
    timeout: seconds('timeout'),
  };
  const confined = { capabilities: { drop: ['ALL'] }, initProcessEnabled: true };
  return [
    ['command', role['command'], ['${each.key}']],
    ['user', role['user'], '1000'],
    ['readonlyRootFilesystem', [prepare, role].map((each) => each['readonlyRootFilesystem']), [true, true]],
    ['linuxParameters', role['linuxParameters'], confined],
    ['healthCheck', role['healthCheck'], healthCheck],
  ];
}

function balancerFacts(example: Example): Fact[] {
  const { path, unhealthy_threshold: failures } = at(
    example,
    'aws_lb_target_group.api.health_check.0',
  ) as Body;
  const [probe] = pods().map(({ containers }) => containers[0].livenessProbe);
  const idleMs = Number(at(example, 'aws_lb.api.idle_timeout')) * 1_000;
  const listeners = example.text.match(/"aws_lb_listener"/g)?.length;
  return [
    ['health_check', [path, failures], [probe?.httpGet.path, probe?.failureThreshold]],
    ['idle_timeout', [idleMs > LONGEST_WAIT_MS, idleMs < IDLE_CONNECTION_MS], [true, true]],
    ['listener', [listeners, at(example, 'aws_lb_listener.https.protocol')], [1, 'HTTPS']],
  ];
}

function redisFacts(example: Example): Fact[] {
  const text = textOf(at(example, 'aws_secretsmanager_secret_version.redis_url.secret_string'));
  const url = text.replace('${local.redis_port}', '6379').replaceAll(/\$\{[^}]*\}/g, 'x');
  const [, rules = ''] = /`ACL SETUSER \w+ (on .*)`/.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
  const granted = rules.replace(' >password', '').replace(' +config|get', '');
  return [
    ['REDIS_URL', [redisUrlFault(url), isClusterUrl(url), url.startsWith('rediss')], [null, true, true]],
    ['tls_enabled', at(example, 'aws_memorydb_cluster.redis.tls_enabled'), true],
    ['maxmemory-policy', at(example, 'aws_memorydb_parameter_group.redis.parameter.0.value'), 'noeviction'],
    ['access_string', at(example, 'aws_memorydb_user.redis.access_string'), granted],
  ];
}
