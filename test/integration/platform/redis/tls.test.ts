/** TLS to a cluster and to sentinels, with certificates that hold names and no addresses (AWS ElastiCache, MemoryDB).
 *  It must never accept a certificate that is not checked. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawnProcess, freePort, type Child } from '../../../support/process.ts';
import { redisServerPath } from '../../../support/redis.ts';

const PROBE = `
  const { askRedis } = await import('${import.meta.resolve('../../../../src/platform/redis/reach.ts')}');
  const said = await askRedis(process.argv[1], (connection) => connection.set('{k}:tls', 'yes')).catch((error) => error.message + ' / ' + error.fix);
  console.log('said ' + said);
  process.exit(0);
`;

let folder: string;

function certificate(name: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=DNS:${name}`);
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    `/CN=${name}`,
  );
  const signing = [
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    `${name}.ext`,
  ];
  openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.pem`);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'adjutant-tls-'));
  const ca = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  ];
  execFileSync('openssl', [...ca, '-subj', '/CN=test authority'], { cwd: folder, stdio: 'pipe' });
  for (const name of ['localhost', 'elsewhere.example']) certificate(name);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function tlsSettings(port: number, name: string): string[] {
  const file = (kind: string): string => join(folder, `${name}.${kind}`);
  const files = [
    '--tls-cert-file',
    file('pem'),
    '--tls-key-file',
    file('key'),
    '--tls-ca-cert-file',
    join(folder, 'ca.pem'),
  ];
  return [
    '--port',
    '0',
    '--tls-port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    ...files,
    '--tls-auth-clients',
    'no',
  ];
}

async function startTls(port: number, name: string, more: readonly string[]): Promise<Child> {
  const child = spawnProcess(redisServerPath(), [...tlsSettings(port, name), ...more]);
  await child.waitForLine(/Ready to accept connections|Sentinel ID/);
  return child;
}

/** The report of the product's connection on the address, in a process that trusts the test authority. */
async function ask(url: string): Promise<string> {
  const child = spawnProcess(process.execPath, ['--input-type=module', '-e', PROBE, '--', url], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
  });
  return (await child.waitForLine(/^said /)).slice('said '.length);
}

async function startCluster(name: string): Promise<{ port: number; child: Child }> {
  const port = await freePort();
  const announce = [
    '--cluster-announce-hostname',
    'localhost',
    '--cluster-preferred-endpoint-type',
    'hostname',
  ];
  const file = ['--cluster-config-file', `nodes-${port}.conf`];
  const child = await startTls(port, name, [
    '--tls-cluster',
    'yes',
    '--cluster-enabled',
    'yes',
    // The default (port + 10000) may be taken.
    '--cluster-port',
    String(await freePort()),
    ...file,
    ...announce,
  ]);
  const admin = ['--tls', '--insecure', '-p', String(port), 'cluster', 'addslotsrange', '0', '16383'];
  execFileSync('redis-cli', admin, { stdio: 'pipe' });
  await child.waitForLine(/Cluster state changed: ok/);
  return { port, child };
}

describe('a cluster with TLS', () => {
  test('is reached by the name in its certificate', async () => {
    const { port, child } = await startCluster('localhost');
    expect(await ask(`rediss+cluster://localhost:${port}`)).toBe('OK');
    await child.kill9();
  });

  test('whose certificate holds another name is refused with the reason', async () => {
    const { port, child } = await startCluster('elsewhere.example');
    const said = await ask(`rediss+cluster://localhost:${port}`);
    expect(said).toMatch(/no node of the cluster answers: .*altnames.*NODE_EXTRA_CA_CERTS/i);
    await child.kill9();
  });
});

describe('sentinels', () => {
  test('with TLS and a password of their own lead to a master with TLS', async () => {
    const [port, sentinelPort] = [await freePort(), await freePort()];
    const master = await startTls(port, 'localhost', ['--requirepass', 'master-pw']);
    const lines = [
      `sentinel resolve-hostnames yes`,
      `sentinel announce-hostnames yes`,
      `sentinel monitor main localhost ${port} 1`,
      `sentinel auth-pass main master-pw`,
      `requirepass sentinel-pw`,
      `tls-replication yes`,
    ];
    const file = join(folder, 'sentinel.conf');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const settings = tlsSettings(sentinelPort, 'localhost').filter(
      (word, index, all) => word !== '--save' && all[index - 1] !== '--save',
    );
    const sentinel = spawnProcess(redisServerPath(), [file, '--sentinel', ...settings]);
    await sentinel.waitForLine(/\+monitor/);
    const url = `rediss+sentinel://:master-pw@localhost:${sentinelPort}/main?sentinel_password=sentinel-pw`;
    expect(await ask(url)).toBe('OK');
    await Promise.all([master.kill9(), sentinel.kill9()]);
  });

  test('get no clear text where the address asks for TLS', async () => {
    const heard: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (bytes) => {
        heard.push(bytes);
        socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const said = await ask(`rediss+sentinel://:master-pw@127.0.0.1:${port}/main`);
    expect(said).toContain('no sentinel answers');
    // The first byte of a TLS handshake record (RFC 8446, section 5.1).
    expect(heard.map((bytes) => bytes[0])).toEqual(heard.map(() => 0x16));
    expect(heard.length).toBeGreaterThan(0);
    server.close();
  });
});
