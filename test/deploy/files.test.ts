/** The files of an installation are what their readers take: known keys, files that exist, times that fit the drains.
 *  It must not need a program that npm does not install: `npm run test:deploy` asks the real ones. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { customLane, toolLane, webhookLane } from '../../src/store/catalog/route.ts';
import { modelLane } from '../../src/contract/model/model-name.ts';
import { toolMatches } from '../../src/contract/tool/tool-pattern.ts';
import { examineLanes } from '../../src/cli/doctor/start-check.ts';
import { NO_MODULES } from '../../src/agents/modules/modules.ts';
import { composeSchema, type Manifest, manifestSchema } from '../support/deploy-schemas.ts';
import { parse as parseConfig } from '../support/parsed-config.ts';

const COMPOSE = ['docker-compose.yml', ...globSync('deploy/*/docker-compose.yml')];
const MANIFESTS = globSync('deploy/kubernetes/**/*.yaml');
/** What a stop takes beyond the drain. */
const STOP_S = 8;

const read = (file: string): string => readFileSync(file, 'utf8');

function composeOf(file: string) {
  const raw = parse(read(file), { merge: true }) as Record<string, unknown>;
  const own = Object.entries(raw).filter(([key]) => !key.startsWith('x-'));
  return composeSchema.parse(Object.fromEntries(own));
}

function manifestsOf(file: string): Manifest[] {
  return parseAllDocuments(read(file)).map((document) => manifestSchema.parse(document.toJS()));
}

function deployments() {
  return MANIFESTS.flatMap(manifestsOf).filter((manifest) => manifest.kind === 'Deployment');
}

/** Seconds that a stop of each role may take. */
function stopSeconds(): Record<string, number> {
  const { worker, engine } = parseConfig({}, {});
  return {
    api: STOP_S,
    engine: STOP_S + engine.drain_ms / 1_000,
    worker: STOP_S + worker.drain_ms / 1_000,
  };
}

describe('the workers of some lanes', () => {
  const groups = globSync('deploy/kubernetes/lanes/*/kustomization.yaml').map((file) => {
    const [, patterns = ''] = /value: \['worker', '--lanes', ([^\]]+)\]/.exec(read(file)) ?? [];
    return [...patterns.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern);
  });

  test('start with the configuration of the example', () => {
    const example = JSON.parse(read('deploy/kubernetes/overlays/example/adjutant.json')) as object;
    const choice = { config: parseConfig(example, {}), modules: NO_MODULES };
    expect(groups).toHaveLength(2);
    expect(groups.flatMap((patterns) => examineLanes(choice, patterns))).toEqual([]);
  });

  test('serve every kind of lanes together', () => {
    const lanes = [toolLane('a'), modelLane('a'), customLane('a'), webhookLane('a'), webhookLane(null)];
    for (const lane of lanes)
      expect([lane, groups.flat().some((pattern) => toolMatches(pattern, lane))]).toEqual([lane, true]);
  });
});

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');
  const copied = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));

  test('copies what exists, and what .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(copied.filter((source) => globSync(source).length === 0)).toEqual([]);
    expect(copied.filter((source) => !allowed.includes(source.split('/')[0] ?? ''))).toEqual([]);
    expect(copied).toContain('package-lock.json');
  });

  test('runs as a user that is given by number', () => {
    expect(lines.filter((line) => line.startsWith('USER '))).toEqual(['USER 1000']);
  });
});

describe.each(COMPOSE)('%s', (file) => {
  test('has known keys only, and ports of this machine only', () => {
    expect(Object.keys(composeOf(file).services)).not.toEqual([]);
  });

  test('mounts files that exist', () => {
    const mounted = Object.values(composeOf(file).services).flatMap(({ volumes = [] }) => volumes);
    const paths = mounted.map((volume) => volume.split(':')[0] ?? '').filter((path) => path.startsWith('./'));
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });
});

test('the composition waits for each drain before it kills', () => {
  const { services } = composeOf('docker-compose.yml');
  for (const [role, seconds] of Object.entries(stopSeconds()))
    expect(Number.parseInt(services[role]?.stop_grace_period ?? '', 10), role).toBeGreaterThan(seconds);
});

// Issue 33, point 19.
test('the Redis of each composition asks for a password, and only the roles reach it', () => {
  for (const file of COMPOSE) {
    const { services } = composeOf(file);
    const servers = Object.values(services).filter(({ user }) => user === 'redis');
    expect(servers.length, file).toBeGreaterThan(0);
    for (const { command = [], networks } of servers) {
      expect(command.at(-1), file).toMatch(/requirepass|auth-pass/);
      expect(file === 'docker-compose.yml' ? networks : ['redis'], file).toEqual(['redis']);
    }
    for (const { environment } of Object.values(services))
      for (const url of environment?.['REDIS_URL']?.match(/redis.*/g) ?? [])
        expect(url).toContain('://:${REDIS_PASSWORD:?');
  }
});

// Issue 33, point 19: clouds serve credentials at link-local addresses.
test('every pod has an egress policy, and none reaches a link-local address', () => {
  const policies = MANIFESTS.flatMap(manifestsOf).filter((each) => each.kind === 'NetworkPolicy');
  const blocks = policies.flatMap(({ spec }) =>
    (spec.egress ?? []).flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? [])),
  );
  expect(blocks).not.toEqual([]);
  for (const { cidr, except } of blocks)
    expect(except).toContain(cidr.includes(':') ? 'fe80::/10' : '169.254.0.0/16');
  const confined = policies
    .filter(({ spec }) => spec.policyTypes.includes('Egress'))
    .map(({ spec }) => spec.podSelector.matchLabels?.['app.kubernetes.io/component']);
  expect(confined).toEqual(expect.arrayContaining(['api', 'engine', 'worker']));
});

// With `includeSelectors` kustomize adds its label also to the peers of a policy: Prometheus and callers were refused.
test('no peer of a policy has labels that its kustomization overwrites', () => {
  const labelled = globSync('deploy/kubernetes/**/kustomization.yaml').filter((file) =>
    read(file).includes('includeSelectors: true'),
  );
  const policies = labelled
    .flatMap((file) => globSync(join(dirname(file), '*.yaml')).flatMap(manifestsOf))
    .filter((each) => each.kind === 'NetworkPolicy');
  expect(policies).not.toEqual([]);
  for (const { spec } of policies)
    for (const { podSelector } of (spec.ingress ?? []).flatMap(({ from }) => from))
      expect(podSelector).not.toHaveProperty('matchLabels');
});

test('a misspelt key of a composition is refused', () => {
  const services = { api: { image: 'adjutant', comand: ['api'] } };
  expect(composeSchema.safeParse({ name: 'adjutant', services, volumes: {} }).success).toBe(false);
});

describe.each(MANIFESTS)('%s', (file) => {
  test('has known kinds and keys only', () => {
    expect(manifestsOf(file)).not.toEqual([]);
  });

  test('names files and folders that exist', () => {
    const named = manifestsOf(file).flatMap((manifest) =>
      manifest.kind === 'Kustomization'
        ? [...manifest.resources, ...(manifest.configMapGenerator ?? []).flatMap(({ files = [] }) => files)]
        : [],
    );
    expect(named.filter((path) => !existsSync(join(dirname(file), path)))).toEqual([]);
  });
});

test('a misspelt key of a manifest is refused', () => {
  const [deployment] = deployments();
  const { spec } = structuredClone(deployment) as { spec: { template: { spec: Record<string, unknown> } } };
  expect(manifestSchema.safeParse(deployment).success).toBe(true);
  spec.template.spec['terminationGracePeriod'] = 40;
  expect(manifestSchema.safeParse({ ...deployment, spec }).success).toBe(false);
});

test('each pod is given longer than its stop takes', () => {
  const seconds = stopSeconds();
  for (const { spec } of deployments()) {
    const { containers, terminationGracePeriodSeconds } = spec.template.spec;
    const [{ name, lifecycle }] = containers;
    const before = Number(lifecycle?.preStop.exec.command[1] ?? 0);
    expect(terminationGracePeriodSeconds, name).toBeGreaterThan((seconds[name] ?? Infinity) + before);
  }
  expect(deployments().map(({ spec }) => spec.template.spec.containers[0].name)).toEqual(
    expect.arrayContaining(['api', 'engine', 'worker']),
  );
});

test('the example of a configuration is accepted', () => {
  const example = JSON.parse(read('deploy/kubernetes/overlays/example/adjutant.json')) as object;
  expect(() => parseConfig(example, {})).not.toThrow();
});

// Issue 39, point 5. `npm run test:deploy` renders it, where Helm is installed.
describe('the Helm chart', () => {
  const folder = 'deploy/helm/adjutant';
  const values = parse(read(`${folder}/values.yaml`)) as object;
  const example = parse(read('deploy/helm/example.yaml')) as object;
  const accepts = new Ajv({ allowUnionTypes: true }).compile(
    JSON.parse(read(`${folder}/values.schema.json`)) as object,
  );

  test('has the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read(`${folder}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
  });

  test('accepts its values and those of the example, and no misspelt one', () => {
    expect([accepts(values), accepts(example)]).toEqual([true, true]);
    for (const key of Object.keys(values)) expect(accepts({ [`${key}x`]: {} }), key).toBe(false);
  });

  test('describes every value that it reads', () => {
    const known = Object.keys(values).join('|');
    const unknown = new RegExp(`alues[.](?!(?:${known})\\b)\\w+`, 'g');
    const templates = globSync(`${folder}/templates/*`).map(read);
    expect(templates.flatMap((text) => text.match(unknown) ?? [])).toEqual([]);
  });
});
