/** A server's configuration as the pool gets it: where its credentials go.
 *  It must never connect to anything. */
import { expect, test } from 'vitest';
import type { HttpServerConfig } from '../../../src/config/servers.ts';
import { controlProcess } from '../../../src/service/roles/control-process.ts';
import { serverOptions } from '../../../src/service/roles/mcp-servers.ts';
import { parse } from '../../support/parsed-config.ts';

const INSTALLATION = {
  directory: '/',
  serverVariables: {},
  models: new Map([['smart', ['a:b']]]),
  agents: [{ name: 'coder', description: 'Writes code' }],
};

function transportOf(server: object) {
  const config = parse({ mcpServers: { s: server } }).mcpServers.get('s') as HttpServerConfig;
  return serverOptions('s', config, INSTALLATION).transport;
}

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

test.each([
  ['http://a.example/mcp?x=1', {}, {}],
  ['http://user:p%40ss@a.example/mcp?x=1', {}, { Authorization: basic('user:p@ss') }],
  ['http://user@a.example/mcp?x=1', {}, { Authorization: basic('user:') }],
  ['http://user:100%25%zz@a.example/mcp?x=1', {}, { Authorization: basic('user:100%25%zz') }],
  ['http://user:pass@a.example/mcp?x=1', { bearer_token: 't' }, { Authorization: 'Bearer t' }],
  ['http://user:pass@a.example/mcp?x=1', { headers: { authorization: 'own' } }, { authorization: 'own' }],
])('%s with %j', (url, more, headers) => {
  expect(transportOf({ url, ...more })).toEqual({ kind: 'http', url: 'http://a.example/mcp?x=1', headers });
});

// Programs prefer the lower case: a proxy of the service must not win over that of its server.
test('a variable of a server replaces that of the service in any case of letters', () => {
  const serverVariables = { https_proxy: 'http://shared', NO_PROXY: 'localhost' };
  const env = { HTTPS_PROXY: 'http://own' };
  const config = parse({ mcpServers: { s: { command: 'node', env } } }).mcpServers.get('s');
  if (config?.kind !== 'stdio') throw new Error('wrong kind');
  const { transport } = serverOptions('s', config, { ...INSTALLATION, serverVariables });
  expect(transport).toMatchObject({ env: { NO_PROXY: 'localhost', ...env } });
  expect(transport).not.toHaveProperty('env.https_proxy');
});

test('the built-in server is a process of this Node, which knows what may be named', () => {
  const transport = transportOf({ builtin: 'control' });
  if (transport.kind !== 'stdio') throw new Error('wrong kind');
  expect(transport).toMatchObject({ command: process.execPath, env: {}, cwd: '/' });
  const known = JSON.parse(transport.args.at(-1) ?? '') as { tiers: { name: string }[] };
  expect(known).toMatchObject({ agents: INSTALLATION.agents });
  expect(known.tiers).toEqual([{ name: 'smart' }]);
});

test('an installation of any size fits into its argument', () => {
  const known = (count: number, description: string): object => {
    const agents = Array.from({ length: count }, (_, n) => ({ name: `agent-${n}`, description }));
    const { args } = controlProcess({ ...INSTALLATION, models: new Map(), agents });
    expect(Buffer.byteLength(args.at(-1) ?? '')).toBeLessThan(128 * 1_024);
    return JSON.parse(args.at(-1) ?? '') as object;
  };
  const { tiers, agents } = known(1, 'é'.repeat(1_024)) as { tiers: object[]; agents: object[] };
  expect(tiers).toContainEqual({ name: 'fast' });
  expect(tiers).not.toContainEqual({ name: 'embedding' });
  expect(agents).toEqual([{ name: 'agent-0', description: 'é'.repeat(300) }]);
  expect(known(1_000, 'é'.repeat(300))).toMatchObject({
    agents: expect.arrayContaining([{ name: 'agent-9' }]),
  });
  expect(known(10_000, '')).toEqual({});
});
