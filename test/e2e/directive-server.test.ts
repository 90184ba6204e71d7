/** `adjutant directive-server` as a process: with the clients of both SDKs, Adjutant's own pool, and bytes written by hand.
 *  It must not share code with the server: what each client reads is compared with the files. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Answer,
  answersIn,
  CONTEXT,
  framesIn,
  payloadOf,
  placeWith,
  PROCEDURE,
  startPeer,
  templatePath,
  WHOLE,
} from '../support/directive-server.ts';
import { startCli } from '../support/cli.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { openPool } from '../support/mcp-pool.ts';
import { PROGRAM } from '../support/program.ts';

const TOOLS = JSON.parse(await readFile('test/support/directive-tools.json', 'utf8')) as {
  tools: { name: string }[];
};
const NAMES = TOOLS.tools.map(({ name }) => name);
const COMMAND = process.execPath;

function argsFor(place: string): string[] {
  return [PROGRAM, 'directive-server', '--root', place];
}

type Called = Readonly<Record<string, unknown>>;

/** The template's text in the answer of each bundle, the file, the list: read by whatever client. */
async function readAll(
  call: (name: string, args: Record<string, unknown>) => Promise<Called>,
): Promise<unknown> {
  const payloads = [];
  for (const name of NAMES) {
    const args = name === 'directive/file.get' ? { path: CONTEXT } : {};
    payloads.push(payloadOf({ result: { ...(await call(name, args)) } }));
  }
  const [list, file, ...bundles] = payloads;
  return { list, file, templates: bundles.map((each) => each['template']) };
}

function namesIn({ result }: Answer): string[] {
  const tools = (result?.['tools'] ?? []) as { name: string }[];
  return tools.map(({ name }) => name);
}

const EVERYTHING = {
  list: { files: Object.keys(WHOLE).toSorted() },
  file: { path: CONTEXT, content: WHOLE[CONTEXT] },
  templates: ['spec', 'impact', 'tdr'].map((kind) => ({
    path: templatePath(kind),
    content: WHOLE[templatePath(kind)],
  })),
};

describe('M14 the five tools are listed and called', () => {
  test('by the SDK of the legacy protocol', async () => {
    const client = new Client({ name: 'test', version: '1' });
    onTestFinished(async () => client.close());
    const args = argsFor(await placeWith(WHOLE));
    await client.connect(new StdioClientTransport({ command: COMMAND, args }));
    expect(client.getServerVersion()).toMatchObject({ name: 'directive' });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect((await client.listTools()).tools).toEqual(TOOLS.tools);
    expect(await readAll(async (name, each) => client.callTool({ name, arguments: each }))).toEqual(
      EVERYTHING,
    );
    await expect(
      client.callTool({ name: 'directive/file.get', arguments: { path: 'x' } }),
    ).rejects.toMatchObject({
      code: 1001,
      message: expect.stringContaining('File not found under directive/: x'),
    });
  });

  test('by the SDK of the modern protocol', async () => {
    const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    onTestFinished(async () => client.close());
    const args = argsFor(await placeWith(WHOLE));
    await client.connect(new ModernTransport({ command: COMMAND, args }));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await client.listTools()).tools).toEqual(TOOLS.tools);
    expect(await readAll(async (name, each) => client.callTool({ name, arguments: each }))).toEqual(
      EVERYTHING,
    );
    await expect(
      client.callTool({ name: 'directive/file.get', arguments: { path: 'x' } }),
    ).rejects.toMatchObject({
      code: 1001,
      message: 'File not found under directive/: x',
    });
  });

  test('by Adjutant itself', async () => {
    const place = await placeWith(WHOLE);
    const { call, listings } = openPool({
      name: 'directive',
      transport: { kind: 'stdio', command: COMMAND, args: argsFor(place), env: {} },
    });
    expect(
      await readAll(async (name, args) => {
        const outcome = await call(name, args);
        if (outcome.kind !== 'result') throw new Error(JSON.stringify(outcome));
        return outcome.result as Called;
      }),
    ).toEqual(EVERYTHING);
    expect(
      listings
        .at(-1)
        ?.tools.map(({ name }) => name)
        .toSorted(),
    ).toEqual(NAMES.toSorted());
  });
});

describe('upstream: one request in a frame with Content-Length, then the end of the input', () => {
  async function once(place: string, request: Record<string, unknown>): Promise<Answer> {
    const peer = startPeer(['--root', place]);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...request });
    peer.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    const text = await peer.end();
    expect(text).toMatch(/^Content-Length: \d+\r\n\r\n\{/);
    const [answer, ...others] = framesIn(text);
    expect([answer?.id, others]).toEqual([1, []]);
    return answer ?? {};
  }
  const FILES = {
    [PROCEDURE]: 'Do not write code until the TDR is produced and approved.',
    [CONTEXT]: 'CTX',
    [templatePath('spec')]: 'SPEC TMPL',
  };

  test('server: legacy spec.template', async () => {
    const { result } = await once(await placeWith(FILES), { method: 'spec.template', params: {} });
    expect(result).toMatchObject({
      primer: expect.stringMatching(/^do not write code/i),
      template: { content: 'SPEC TMPL' },
      agentContext: { path: CONTEXT },
    });
  });

  test('server: tools/list, then tools/call of the spec', async () => {
    const place = await placeWith(FILES);
    const listed = await once(place, { method: 'tools/list', params: {} });
    expect(namesIn(listed)).toEqual(NAMES);
    const params = { name: 'directive/spec.template', arguments: {} };
    expect(payloadOf(await once(place, { method: 'tools/call', params }))).toMatchObject({
      template: { content: 'SPEC TMPL' },
    });
  });

  test('server: file.get and files.list', async () => {
    const place = await placeWith({ [CONTEXT]: 'CTX' });
    const call = async (name: string, args: object) =>
      payloadOf(await once(place, { method: 'tools/call', params: { name, arguments: args } }));
    expect(await call('directive/file.get', { path: CONTEXT })).toMatchObject({ content: 'CTX' });
    expect(await call('directive/files.list', {})).toEqual({ files: [CONTEXT] });
  });

  test('upstream: bundles: missing template', async () => {
    const place = await placeWith({ [PROCEDURE]: 'AOP', [CONTEXT]: 'CTX' });
    const { error } = await once(place, { method: 'spec.template' });
    expect(error).toMatchObject({ code: 1001, message: expect.stringContaining('Missing template') });
  });
});

describe('M16 what a client may get wrong', () => {
  test('with Content-Length: two frames, a body that is no JSON, and headers that end it', async () => {
    const peer = startPeer(['--root', await placeWith(WHOLE)]);
    const frame = (body: string): string =>
      `content-length: ${Buffer.byteLength(body)}\r\nX: y\r\n\r\n${body}`;
    peer.write(frame('{"id":1,"method":"directive.file.get","params":{"path":"é"}}') + frame('{"id":2,'));
    peer.write(`${frame('{"id":3,"method":"directive.files.list"}')}no header\r\n\r\n`);
    const frames = framesIn(await peer.end()).toSorted((a, b) => Number(a.id) - Number(b.id));
    expect(frames).toMatchObject([
      { id: null, error: { code: -32_700, message: 'Parse error' } },
      { id: 1, error: { code: 1001, message: 'File not found under directive/: é' } },
      { id: 3, result: { files: expect.any(Array) } },
    ]);
  });

  test('in lines: no JSON, batches, ids and params of any kind; the next request is answered', async () => {
    const peer = startPeer(['--root', await placeWith(WHOLE)]);
    const wrong = [
      '{',
      '[]',
      '[{"id":1,"method":"tools/list"}]',
      '5',
      'null',
      '"x"',
      '{}',
      '['.repeat(5_000),
      '{"id":null,"method":"tools/list"}',
      '{"id":{},"method":"tools/list"}',
      '{"id":1.5,"method":"tools/list"}',
      '{"jsonrpc":"1.0","id":"a","method":"tools/list"}',
      '{"id":"b"}',
      '{"id":"c","method":7}',
      '{"id":"d","method":"tools/list","params":[1]}',
      '{"id":"e","method":"tools/call","params":{"name":"directive/files.list","arguments":[1]}}',
      '{"id":"f","method":"tools/call","params":{"name":"directive/files.list","_meta":5}}',
      '{"id":99,"result":{}}',
    ];
    for (const line of wrong) peer.write(`${line}\n`);
    expect((await peer.ask('tools/list')).result).toEqual(TOOLS);
    const answers = answersIn(await peer.end());
    const codes = answers.map(({ id, error }) => `${id} ${error?.code ?? 'result'}`).toSorted();
    expect(codes).toEqual(
      [
        ...Array.from({ length: 8 }, () => 'null -32600'),
        ...Array.from({ length: 2 }, () => 'null -32700'),
        '1 result',
        'a -32600',
        'b -32601',
        'c -32601',
        'd -32000',
        'e -32000',
        'f -32600',
      ].toSorted(),
    );
  });

  test('a thousand calls that nobody reads until the end are all answered', async () => {
    const peer = startPeer(['--root', await placeWith(WHOLE)]);
    for (let id = 1; id <= 1_000; id += 1)
      peer.write(
        `{"jsonrpc":"2.0","id":${id},"method":"directive.file.get","params":{"path":"${CONTEXT}"}}\n`,
      );
    const ids = answersIn(await peer.end()).map(({ id }) => Number(id));
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  });
});

describe('M17 it writes nothing', () => {
  test('where node forbids every write, all tools answer', async () => {
    const place = await placeWith(WHOLE);
    const before = await stat(join(place, 'directive/reference'));
    const peer = startPeer(['--root', place], ['--permission', '--allow-fs-read=*']);
    const read = readAll(
      async (name, args) => (await peer.ask('tools/call', { name, arguments: args })).result ?? {},
    );
    expect(await read).toEqual(EVERYTHING);
    expect((await stat(join(place, 'directive/reference'))).mtimeMs).toBe(before.mtimeMs);
  });
});

describe('the log', () => {
  const CALLS = [
    { name: 'directive/file.get', arguments: { path: CONTEXT } },
    { name: 'directive/files.get', arguments: { path: '../SECRET' } },
    { name: 'no SECRET', arguments: {} },
  ];

  async function errorsWith(...args: string[]): Promise<string> {
    const peer = startPeer(['--root', await placeWith(WHOLE), ...args]);
    for (const params of CALLS) await peer.ask('tools/call', params);
    await peer.end();
    return peer.errors();
  }

  test('is silent', async () => expect(await errorsWith()).toBe(''));

  test('has tool, duration and outcome with --log, and no content', async () => {
    const lines = (await errorsWith('--log')).trim().split('\n');
    expect(lines.map((line) => line.replace(/\d+\.\d/, '#'))).toEqual([
      'directive-server tool=directive/file.get duration_ms=# outcome=ok',
      'directive-server tool=directive/file.get duration_ms=# outcome=error code=-32000',
      'directive-server tool=unknown duration_ms=# outcome=error code=-32601',
    ]);
  });
});

test('--names portable lists what every host accepts', async () => {
  const peer = startPeer(['--root', await placeWith(WHOLE), '--names', 'portable']);
  const answer = await peer.ask('tools/list');
  const names = namesIn(answer);
  expect(names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
});

test('--http listens on the loopback until it is stopped', async () => {
  const { child, ended, said } = startCli(['directive-server', '--http', '0'], {
    cwd: await placeWith(WHOLE),
  });
  const url = (await said(/http:\/\/127\.0\.0\.1:\d+\/mcp/)).toString();
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const response = await fetch(url, { method: 'POST', headers, body });
  expect(await response.text()).toContain(JSON.stringify(TOOLS).slice(1, -1));
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});

test('M18 each call is a span and a measurement: its tool, its time, its outcome, and no content', async () => {
  await using collector = await startOtlpReceiver();
  const cwd = await placeWith(WHOLE);
  const caller = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
  const call = (id: number, name: string, path: string, sampled: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name,
        arguments: { path },
        _meta: { traceparent: `00-${caller.trace}-${caller.span}-${sampled}` },
      },
    });
  const stdin = [
    call(1, 'directive/file.get', CONTEXT, '01'),
    call(2, 'directive/file.get', '../SECRET', '01'),
    call(3, 'SECRET', 'SECRET', '01'),
    call(4, 'directive/file.get', CONTEXT, '00'),
    '{"jsonrpc":"2.0","id":5,"method":"directive.files.list"}',
  ].join('\n');
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const { code, stderr } = await startCli(['directive-server'], { cwd, env, stdin }).ended;
  expect([code, stderr]).toEqual([0, '']);
  const spans = collector
    .spans()
    .map(({ name, kind, parentId, status, attributes, service }) =>
      [service, kind, name, parentId, status, (attributes['error.type'] as string | undefined) ?? ''].join(
        ' ',
      ),
    );
  expect(spans.toSorted()).toEqual([
    'directive-server SERVER tools/call directive/file.get b7ad6b7169203331 ERROR -32000',
    'directive-server SERVER tools/call directive/file.get b7ad6b7169203331 UNSET ',
    'directive-server SERVER tools/call directive/files.list  UNSET ',
    'directive-server SERVER tools/call unknown b7ad6b7169203331 ERROR -32601',
  ]);
  expect(JSON.stringify(collector.spans().map(({ attributes }) => attributes))).not.toMatch(/SECRET|naïve/);
  for (const { startNano, endNano } of collector.spans()) expect(endNano >= startNano).toBe(true);
  const [metric, ...others] = collector.metrics();
  expect([metric?.service, metric?.name, metric?.unit, others]).toEqual([
    'directive-server',
    'mcp.server.operation.duration',
    's',
    [],
  ]);
  const counts = metric?.points.map(({ attributes, value }) => {
    const { 'gen_ai.tool.name': tool, 'error.type': error = '', ...rest } = attributes;
    return [String(tool), String(error), value, rest['mcp.method.name']].join(' ');
  });
  expect(counts?.toSorted()).toEqual([
    'directive/file.get  2 tools/call',
    'directive/file.get -32000 1 tools/call',
    'directive/files.list  1 tools/call',
    'unknown -32601 1 tools/call',
  ]);
});
