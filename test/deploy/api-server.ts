// A real Kubernetes API server, with etcd and nothing behind it, on free ports of 127.0.0.1: no pod ever starts.
// Must never be asked without its own certificate, nor outlive the test.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type Child, freePort, spawnProcess } from '../support/process.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Answer {
  readonly code: number;
  /** Why it was refused; '' = it was not. */
  readonly message: string;
}

export interface ApiServer {
  /** Server-side apply that refuses unknown fields; with `dryRun` nothing is stored. */
  apply(manifest: Manifest, dryRun?: boolean): Promise<Answer>;
  stop(): Promise<void>;
}

/** On a busy machine its start takes long. */
const LONGEST_START_MS = 240_000;
const CLUSTER_KINDS = ['Namespace', 'CustomResourceDefinition'];

export async function startApiServer(
  programs: { readonly etcd: string; readonly server: string },
  folder: string,
): Promise<ApiServer> {
  const etcd = await startEtcd(programs.etcd, join(folder, 'etcd'));
  const home = join(folder, 'api-server');
  mkdirSync(home, { recursive: true });
  const token = randomBytes(16).toString('hex');
  const port = await freePort();
  const child = spawnProcess(programs.server, flags(home, { etcdUrl: etcd.url, port, token }));
  const stop = async (): Promise<void> => {
    await child.stop(30_000);
    await etcd.child.stop();
  };
  const ask = asker(home, port, token);
  try {
    await untilReady(child, ask);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    apply: async (manifest, dryRun = false) => ask('PATCH', pathOf(manifest, dryRun), manifest),
    stop,
  };
}

async function startEtcd(program: string, dataFolder: string): Promise<{ child: Child; url: string }> {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const settings = {
    'data-dir': dataFolder,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  };
  const child = spawnProcess(
    program,
    Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
  );
  await child.waitForLine(/serving (?:insecure client requests|client traffic insecurely)/, LONGEST_START_MS);
  return { child, url: client ?? '' };
}

function flags(
  home: string,
  { etcdUrl, port, token }: { etcdUrl: string; port: number; token: string },
): string[] {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = join(home, 'service-account.pem');
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const tokens = join(home, 'tokens.csv');
  writeFileSync(tokens, `${token},test,test,system:masters\n`, { mode: 0o600 });
  const settings = {
    'etcd-servers': etcdUrl,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-signing-key-file': key,
    'service-account-key-file': key,
    'service-cluster-ip-range': '10.0.0.0/24',
    'secure-port': port,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'cert-dir': home,
    'authorization-mode': 'RBAC',
    'token-auth-file': tokens,
    'disable-admission-plugins': 'ServiceAccount',
  };
  return Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
}

type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** It signs its own certificate, which is the only one that is taken. */
function asker(home: string, port: number, token: string): Ask {
  return async (method, path, body) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' };
    const ca = readFileSync(join(home, 'apiserver.crt'));
    request({ host: '127.0.0.1', port, path, method, headers, ca }, (response) => {
      json(response).then((read) => {
        const { kind, message } = read as { kind?: string; message?: string };
        const code = response.statusCode ?? 0;
        resolve({ code, message: kind === 'Status' ? (message ?? '') : '' });
      }, reject);
    })
      .on('error', reject)
      // JSON is YAML.
      .end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  };
}

/** Its own namespace is there once everything else is. */
async function untilReady(child: Child, ask: Ask): Promise<void> {
  const endsAt = performance.now() + LONGEST_START_MS;
  let hasEnded = false;
  void child.exited.then(() => (hasEnded = true));
  while (performance.now() < endsAt && !hasEnded) {
    const answer = await ask('GET', '/api/v1/namespaces/kube-system').catch(() => null);
    if (answer?.code === 200) return;
    await pause(250);
  }
  throw new Error(`the API server is not ready:\n${child.lines.slice(-10).join('\n')}`);
}

function pathOf(
  { apiVersion, kind, metadata: { name, namespace = 'adjutant' } }: Manifest,
  dryRun: boolean,
): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = CLUSTER_KINDS.includes(kind) ? '' : `/namespaces/${namespace}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies').replace(/sss$/, 'sses');
  const query = `fieldManager=adjutant-test&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
  return `${group}${place}/${plural}/${name}?${query}`;
}
