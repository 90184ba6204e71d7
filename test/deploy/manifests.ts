// What kustomize and Helm make of deploy/, given to a real API server as a dry run, as it is and misspelt.
// Must never take an answer for acceptance that names no reason and is no success.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { type ApiServer, type Manifest, startApiServer } from './api-server.ts';
import { chartObjects } from './chart.ts';
import { must, programPath } from './commands.ts';
import { demand, type Report } from './report.ts';

export const KUSTOMIZATIONS = ['overlays/example', 'worker', 'keda'].map(
  (path) => `deploy/kubernetes/${path}`,
);

const WHAT = 'the manifests, as a dry run, and a misspelt key of each (kube-apiserver)';
const NEEDED = ['kube-apiserver', 'etcd', 'kustomize'] as const;
/** What no manifest has. */
const MISSPELT = 'misspeltKey';

/** With `DEPLOY_CRDS`, a folder of the definitions of KEDA and of the External Secrets Operator, their objects are checked too. */
export async function checkDryRun(report: Report, folder: string): Promise<void> {
  const missing = NEEDED.filter((name) => programPath(name) === null);
  if (missing.length > 0) return report.notRun(WHAT, `not installed: ${missing.join(', ')}`);
  await report.check(WHAT, async () => {
    const [server = '', etcd = ''] = NEEDED.map(programPath).map((path) => path ?? '');
    const api = await startApiServer({ etcd, server }, folder);
    try {
      await prepare(api);
      for (const manifest of built()) await takes(api, manifest);
    } finally {
      await api.stop();
    }
  });
}

interface Definition extends Manifest {
  readonly spec: { readonly group: string };
}

function definitions(): Definition[] {
  const folder = process.env['DEPLOY_CRDS'];
  return folder === undefined
    ? []
    : globSync(join(folder, '*.yaml')).flatMap((file) => parsed(readFileSync(file, 'utf8')) as Definition[]);
}

/** Kinds of other programs are left out where their definitions are not there. */
function built(): Manifest[] {
  const kustomize = programPath('kustomize') ?? '';
  const helm = programPath('helm');
  const all = [
    ...KUSTOMIZATIONS.flatMap((path) => parsed(must(kustomize, ['build', path]))),
    ...(helm === null ? [] : chartObjects(helm)),
  ];
  const groups = definitions().map(({ spec }) => spec.group);
  const isKnown = (group: string): boolean =>
    !group.includes('.') || group.endsWith('.k8s.io') || groups.includes(group);
  return all.filter(({ apiVersion }) => isKnown(apiVersion.split('/').at(-2) ?? ''));
}

function parsed(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** The namespace and the definitions are there before what needs them. */
async function prepare(api: ApiServer): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'adjutant' } };
  for (const manifest of [namespace, ...definitions()]) {
    const { code, message } = await api.apply(manifest);
    demand(code < 300, `${manifest.kind} ${manifest.metadata.name}: ${message}`);
  }
}

async function takes(api: ApiServer, manifest: Manifest): Promise<void> {
  const name = `${manifest.kind} ${manifest.metadata.name}`;
  const whole = await applied(api, manifest);
  demand(whole.code < 300, `${name} is refused: ${whole.message}`);
  const broken = await applied(api, misspelt(manifest));
  demand(broken.code >= 400 && broken.message.includes(MISSPELT), `${name}: a misspelt key is accepted`);
}

/** A kind that was defined a moment ago is served a little later. */
async function applied(api: ApiServer, manifest: Manifest) {
  for (let tried = 1; ; tried += 1) {
    const answer = await api.apply(manifest, true);
    if (answer.code !== 404 || tried === 100) return answer;
    await pause(100);
  }
}

function misspelt(manifest: Manifest): Manifest {
  const { spec } = manifest as { spec?: object };
  const wrong = { [MISSPELT]: 1 };
  return { ...manifest, ...(spec === undefined ? wrong : { spec: { ...spec, ...wrong } }) };
}
