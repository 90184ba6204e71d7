/** A server's configuration as the pool gets it: where its credentials go.
 *  It must never connect to anything. */
import { expect, test } from 'vitest';
import type { HttpServerConfig } from '../../../src/config/servers.ts';
import { serverOptions } from '../../../src/service/mcp-servers.ts';
import { parse } from '../../support/parsed-config.ts';

const INSTALLATION = {
  directory: '/',
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

test('the built-in server is a process of this Node, which knows what may be named', () => {
  const transport = transportOf({ builtin: 'control' });
  if (transport.kind !== 'stdio') throw new Error('wrong kind');
  expect(transport).toMatchObject({ command: process.execPath, env: {}, cwd: '/' });
  const known = JSON.parse(transport.args.at(-1) ?? '') as { tiers: { name: string }[] };
  expect(known).toMatchObject({ agents: INSTALLATION.agents });
  expect(known.tiers.map(({ name }) => name)).toEqual(expect.arrayContaining(['fast', 'smart']));
});
