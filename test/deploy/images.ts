// The images of the composition: the bases as published or as stand-ins, Jaeger, and ours, built from the Dockerfile.
// Must never leave a certificate or a setting of this machine in an image.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must, programPath, run } from './commands.ts';
import { findJaeger } from '../support/jaeger.ts';

const BASES = ['docker.io/library/node:24-slim', 'docker.io/library/redis:7'];
export const PROMETHEUS = 'docker.io/prom/prometheus:v3.5.0';
const JAEGER = 'cr.jaegertracing.io/jaegertracing/jaeger:2.13.0';
/** A registry that does not answer is not waited for. */
const PULL_MS = 120_000;
const CERTIFICATES = ['/etc/ssl/certs', '/usr/local/share/ca-certificates', '/usr/share/ca-certificates'];

/** The variables of Dockerfile and composition that name another image than the pinned one. */
const NAMED_BY = [
  ['REDIS_IMAGE', BASES[1]],
  ['JAEGER_IMAGE', JAEGER],
  ['PROMETHEUS_IMAGE', PROMETHEUS],
] as const;

/** Sees that every image is there; returns a line that says which are stand-ins. `keepOurs`: ours is not built again. */
export async function prepareImages(folder: string, keepOurs: boolean): Promise<string> {
  if (!BASES.every(isThere)) makeStandIns(folder);
  if (!isThere(JAEGER)) await importJaeger(folder);
  if (!isThere(PROMETHEUS)) buildPrometheus(folder);
  if (!keepOurs) build(folder);
  for (const [variable, image] of NAMED_BY) process.env[variable] = image;
  const standIns = [...BASES, JAEGER, PROMETHEUS].filter(isStandIn);
  return standIns.length === 0 ? 'published images' : `stand-ins for ${standIns.join(', ')}`;
}

export function isStored(image: string): boolean {
  return run('podman', ['image', 'exists', image]).code === 0;
}

function isThere(image: string): boolean {
  if (isStored(image)) return true;
  return run('podman', ['pull', '--quiet', image], { timeout: PULL_MS }).code === 0;
}

function isStandIn(image: string): boolean {
  const labels = run('podman', ['image', 'inspect', '--format', '{{json .Labels}}', image]).stdout;
  return labels.includes('adjutant.stand-in');
}

function makeStandIns(folder: string): void {
  if (programPath('mmdebstrap') === null)
    throw new Error('no registry answers, and mmdebstrap is missing to make stand-ins of the base images');
  const script = join(import.meta.dirname, 'base-images.sh');
  const node = process.versions.node;
  must('bash', [script, join(folder, 'base')], { env: { ...process.env, NODE_VERSION: node } });
}

async function importJaeger(folder: string): Promise<void> {
  const program = await findJaeger(folder);
  if (program === null) throw new Error('no Jaeger: set JAEGER_BIN to the program');
  const root = join(folder, 'jaeger-image');
  mkdirSync(root, { recursive: true });
  copyFileSync(program, join(root, 'jaeger'));
  must('tar', ['-C', root, '-cf', join(folder, 'jaeger.tar'), 'jaeger']);
  const changes = ['ENTRYPOINT ["/jaeger"]', 'LABEL adjutant.stand-in=yes'];
  const flags = changes.flatMap((change) => ['--change', change]);
  must('podman', ['import', '--quiet', ...flags, join(folder, 'jaeger.tar'), JAEGER]);
}

/** As published: its own user, its data folder, and the arguments of the composition's file. Without the program there is none. */
const PROMETHEUS_FILE = `FROM ${BASES[0]}
LABEL adjutant.stand-in=yes
COPY prometheus /bin/prometheus
RUN mkdir /prometheus && chown 65534:65534 /prometheus
USER 65534
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
`;

function buildPrometheus(folder: string): void {
  const program = programPath('prometheus');
  if (program === null) return;
  const root = join(folder, 'prometheus-image');
  mkdirSync(root, { recursive: true });
  copyFileSync(program, join(root, 'prometheus'));
  writeFileSync(join(root, 'Dockerfile'), PROMETHEUS_FILE);
  must('podman', ['build', ...BUILD, '--tag', PROMETHEUS, root]);
}

/** chroot: no cgroups are needed. docker: the other format has no health check. */
const BUILD = ['--isolation', 'chroot', '--pull=never', '--format', 'docker'];

/** npm in the build trusts what this machine trusts: mounted, so that nothing of it stays in the image. */
function build(folder: string): void {
  const npmrc = join(folder, 'npmrc');
  const bundle = '/etc/ssl/certs/ca-certificates.crt';
  writeFileSync(npmrc, existsSync(bundle) ? `cafile=${bundle}\n` : '');
  const volumes = [
    ...CERTIFICATES.filter((path) => existsSync(path)).map((path) => `${path}:${path}:ro`),
    `${npmrc}:/usr/local/lib/node_modules/npm/npmrc:ro`,
  ];
  const mounted = volumes.flatMap((volume) => ['--volume', volume]);
  const base = ['--build-arg', `NODE_IMAGE=${BASES[0]}`];
  must('podman', ['build', ...BUILD, ...base, '--tag', 'adjutant', ...mounted, '.']);
}
