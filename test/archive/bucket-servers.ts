/** Real S3-compatible servers of other people, installed once into node_modules/.cache: versitygw (Go), moto (Python).
 *  It must never install anything else, nor leave one running. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { type Child, freePort, spawnProcess } from '../support/process.ts';

const run = promisify(execFile);
const CACHE = resolve('node_modules/.cache/adjutant-archive');
const VERSITYGW = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';
const MOTO = 'moto[server]==5.2.5';
/** The Go server compiles for minutes. */
const INSTALL_MS = 900_000;

export const REGION = 'us-east-1';
export const BUCKET = 'adjutant-tests';

export interface BucketServer {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  kill(): Promise<void>;
  /** On the same port. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  readonly checksSignatures: boolean;
  /** Throws where it cannot be installed here. */
  start(): Promise<BucketServer>;
}

export const SERVERS: readonly ServerKind[] = [
  { name: 'versitygw', checksSignatures: true, start: startVersitygw },
  { name: 'moto', checksSignatures: false, start: startMoto },
];

async function startVersitygw(): Promise<BucketServer> {
  const program = process.env['VERSITYGW'] ?? join(CACHE, 'versitygw');
  if (!existsSync(program)) {
    const folder = await mkdtemp(join(await cache(), 'go-'));
    await run('go', ['install', VERSITYGW], { env: { ...process.env, GOBIN: folder }, timeout: INSTALL_MS });
    await rename(join(folder, 'versitygw'), program);
  }
  return served(({ port, folder, accessKeyId, secretAccessKey }) =>
    spawnProcess(
      program,
      [
        '--port',
        `127.0.0.1:${port}`,
        '--region',
        REGION,
        'posix',
        '--sidecar',
        join(folder, 'meta'),
        join(folder, 'data'),
      ],
      { env: { ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey } },
    ),
  );
}

async function startMoto(): Promise<BucketServer> {
  const place = join(await cache(), 'moto');
  if (!existsSync(join(place, 'bin/moto_server'))) {
    await rm(place, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', place], { timeout: INSTALL_MS });
    const python = join(place, 'bin/python');
    await run(python, ['-m', 'pip', 'install', '--quiet', MOTO], { timeout: INSTALL_MS });
  }
  return served(({ port }) =>
    spawnProcess(join(place, 'bin/moto_server'), ['--host', '127.0.0.1', '--port', String(port)]),
  );
}

async function cache(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  return CACHE;
}

interface Launch {
  readonly port: number;
  readonly folder: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

async function served(launch: (given: Launch) => Child): Promise<BucketServer> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-bucket-'));
  for (const name of ['data', 'meta']) await mkdir(join(folder, name));
  const keys = { accessKeyId: 'ARCHIVETESTKEY', secretAccessKey: 'archive-test-secret-0123456789' };
  const given = { port: await freePort(), folder, ...keys };
  const endpoint = `http://127.0.0.1:${given.port}`;
  let child = launch(given);
  const start = async (): Promise<void> => untilBucket(endpoint, given, child);
  await start();
  return {
    endpoint,
    ...keys,
    kill: async () => void (await child.kill9()),
    async restart() {
      await child.kill9();
      child = launch(given);
      await start();
    },
    async [Symbol.asyncDispose]() {
      await child.kill9();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Asks for the bucket until the server answers that it is there. */
async function untilBucket(endpoint: string, keys: Launch, child: Child): Promise<void> {
  const signer = new AwsClient({ ...keys, region: REGION, service: 's3', retries: 0 });
  const state = { ended: false };
  void child.exited.then(() => (state.ended = true));
  for (;;) {
    const made = await signer.fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' }).catch(() => null);
    if (made?.ok === true || made?.status === 409) return;
    if (state.ended) throw new Error(`the server has ended:\n${child.lines.slice(-10).join('\n')}`);
    await new Promise((resolved) => setTimeout(resolved, 100));
  }
}
