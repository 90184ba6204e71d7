/** The five tools on the wire, case by case, and what other servers of these tools promise.
 *  It must not look into the server: bytes in, bytes out. */
import { mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type Answer,
  answersIn,
  CONTEXT,
  type Files,
  openPeer,
  payloadOf,
  type Peer,
  placeWith,
  PROCEDURE,
  templatePath,
  WHOLE,
} from '../../../support/directive-server.ts';

const KINDS = ['spec', 'impact', 'tdr'] as const;

async function peerOf(files: Files = WHOLE): Promise<Peer> {
  return openPeer(await placeWith(files));
}

async function call(peer: Peer, name: string, args?: unknown): Promise<Answer> {
  return peer.ask('tools/call', { name, arguments: args });
}

async function get(peer: Peer, path: unknown): Promise<Answer> {
  return call(peer, 'directive/file.get', { path });
}

const without = (files: Files, path: string): Files =>
  Object.fromEntries(Object.entries(files).filter(([each]) => !each.startsWith(path)));

describe('M01 tools/list', () => {
  test('is the fixture, byte by byte', async () => {
    const peer = await peerOf();
    await peer.ask('tools/list');
    const fixture = JSON.stringify(JSON.parse(await readFile('test/support/directive-tools.json', 'utf8')));
    expect(await peer.end()).toContain(`"result":${fixture}`);
  });
});

describe('M02 the bundle of', () => {
  test.each(KINDS)('%s has its keys in order, its texts unchanged', async (kind) => {
    const answer = await call(await peerOf(), `directive/${kind}.template`);
    const path = templatePath(kind);
    expect(Object.keys(answer.result ?? {})).toEqual(['content']);
    expect(JSON.stringify(payloadOf(answer))).toBe(
      JSON.stringify({
        primer: '- Do not write code before the review.',
        agentOperatingProcedure: { path: PROCEDURE, content: WHOLE[PROCEDURE] },
        agentContext: { path: CONTEXT, content: WHOLE[CONTEXT] },
        template: { path, content: WHOLE[path] },
        resources: [{ path: PROCEDURE }, { path: CONTEXT }, { path }],
      }),
    );
  });
});

describe('M03 the primer', () => {
  const FALLBACK = 'Do not write code before TDR approval. Follow Spec → Impact → TDR → TDD.';
  test.each([
    ['a bold line', 'x\n  **Do not write code** early.  \n', 'Do not write code early.'],
    ['the other wording', 'x\r\nDo not start coding yet.\r\ny', 'Do not start coding yet.'],
    ['a bullet', '- Do **not**\n- Do not write code.\n', '- Do not write code.'],
    ['none', 'do not write code\nDO NOT START CODING', FALLBACK],
    ['an empty procedure', '', FALLBACK],
  ])('comes from %s', async (_, procedure, primer) => {
    const peer = await peerOf({ ...WHOLE, [PROCEDURE]: procedure });
    expect(payloadOf(await call(peer, 'directive/spec.template'))['primer']).toBe(primer);
  });
});

describe('M04 files.list', () => {
  test('is sorted by code point, with hidden and nested files, without pipes and links that lead outside', async () => {
    const place = await placeWith({
      ...WHOLE,
      'directive/.hidden': '',
      'directive/b/.deep/z.txt': '',
      'directive/b.md': '',
      'directive/\u{1F389}.md': '',
      'directive/\uFF5E.md': '',
      'outside.md': '',
    });
    await symlink('b.md', join(place, 'directive/inner.md'));
    await symlink('b', join(place, 'directive/linked-folder'));
    await symlink('../outside.md', join(place, 'directive/outer.md'));
    await symlink('nothing', join(place, 'directive/dangling.md'));
    expect(payloadOf(await call(openPeer(place), 'directive/files.list'))).toEqual({
      files: [
        'directive/.hidden',
        'directive/b.md',
        'directive/b/.deep/z.txt',
        'directive/inner.md',
        CONTEXT,
        PROCEDURE,
        templatePath('impact'),
        templatePath('spec'),
        templatePath('tdr'),
        'directive/\uFF5E.md',
        'directive/\u{1F389}.md',
      ],
    });
  });

  test('refuses a folder with too many entries or levels, in words', async () => {
    const deep = await peerOf({ [`directive/${'d/'.repeat(40)}x.md`]: '' });
    expect(await call(deep, 'directive/files.list')).toMatchObject({
      error: { code: -32_000, data: { details: 'directive/ is deeper than 32 folders' } },
    });
    const names = Array.from({ length: 10_001 }, (_, index) => [`directive/${index}`, '']);
    const wide = await peerOf(Object.fromEntries(names) as Files);
    expect(await call(wide, 'directive/files.list')).toMatchObject({
      error: { code: -32_000, data: { details: 'directive/ holds more than 10000 entries' } },
    });
  });
});

const ESCAPE = 'Path escape detected; refusing to read outside directive root';
const notFound = (path: string) => ({ code: 1001, message: `File not found under directive/: ${path}` });
const fault = (details: string, field?: string) => ({
  code: -32_000,
  message: 'Server error',
  data: { details, ...(field === undefined ? {} : { field }) },
});

describe('M05 file.get', () => {
  test.each([
    CONTEXT,
    'reference/agent_context.md',
    '/reference/agent_context.md',
    'reference/templates/../agent_context.md',
    'directive/./reference//agent_context.md',
    'linked/agent_context.md',
    'absolute.md',
  ])('reads %s, and echoes the path as given', async (path) => {
    const place = await placeWith(WHOLE);
    await symlink('reference', join(place, 'directive/linked'));
    await symlink(join(place, CONTEXT), join(place, 'directive/absolute.md'));
    const payload = payloadOf(await get(openPeer(place), path));
    expect(JSON.stringify(payload)).toBe(JSON.stringify({ path, content: WHOLE[CONTEXT] }));
  });

  test.each([
    '/directive/reference/agent_context.md',
    './directive/reference/agent_context.md',
    'directive/directive/reference/agent_context.md',
    'directive',
    'directive/',
    '',
    '.',
    'reference',
    'reference\\agent_context.md',
    'REFERENCE/AGENT_CONTEXT.MD',
    'reference/agent_context.md/x',
    '/etc/passwd',
    '\uD800.md',
  ])('finds nothing at "%s"', async (path) => {
    expect((await get(await peerOf(), path)).error).toEqual(notFound(path));
  });

  test('finds nothing at the absolute path of the file itself', async () => {
    const place = await placeWith(WHOLE);
    const path = join(place, CONTEXT);
    expect((await get(openPeer(place), path)).error).toEqual(notFound(path));
  });

  test.each([
    '../secret.txt',
    'directive/../secret.txt',
    'reference/../../secret.txt',
    '../directive/reference/agent_context.md',
    '/../secret.txt',
    'outer.md',
    'outer-folder/secret.txt',
    'absolute-outer.md',
    'to-nothing-outside.md',
  ])('refuses %s', async (path) => {
    const place = await placeWith({ ...WHOLE, 'secret.txt': 'SECRET' });
    const link = async (target: string, name: string) => symlink(target, join(place, 'directive', name));
    await link('../secret.txt', 'outer.md');
    await link('..', 'outer-folder');
    await link(join(place, 'secret.txt'), 'absolute-outer.md');
    await link('/no/such/file', 'to-nothing-outside.md');
    expect((await get(openPeer(place), path)).error).toEqual(fault(ESCAPE, 'path'));
  });

  test('refuses a NUL', async () => {
    expect((await get(await peerOf(), 'reference/agent_context.md\0.md')).error).toEqual(
      fault('path must not contain a NUL character', 'path'),
    );
  });
});

test('M06 a sibling whose name begins like the folder is refused', async () => {
  const peer = await peerOf({ ...WHOLE, 'directive-evil/x.md': 'SECRET' });
  expect((await get(peer, '../directive-evil/x.md')).error).toEqual(fault(ESCAPE, 'path'));
});

describe('M07 a path that is no string', () => {
  test.each([[{}], [{ path: 5 }], [{ path: null }], [{ path: ['a'] }]])('%j', async (args) => {
    const { error } = await call(await peerOf(), 'directive/file.get', args);
    expect(error).toEqual(fault('path must be a string', 'path'));
  });

  test('is refused before the folder is looked for', async () => {
    expect((await call(await peerOf({}), 'directive/file.get', {})).error).toMatchObject({ code: -32_000 });
  });
});

describe('M08 a tool that is not there', () => {
  test('is named', async () => {
    const { error } = await call(await peerOf(), 'directive/file.put', {});
    expect(error).toEqual({ code: -32_601, message: 'Tool not found: directive/file.put' });
  });

  test.each(['constructor', '__proto__', 'toString'])('%s is no tool', async (name) => {
    const { error } = await call(await peerOf(), name);
    expect(error).toEqual({ code: -32_601, message: `Tool not found: ${name}` });
  });

  test.each([[{}], [{ name: 5 }], [{ name: null, arguments: {} }], [undefined]])(
    'params %j',
    async (params) => {
      const { error } = await (await peerOf()).ask('tools/call', params);
      expect(error).toEqual(fault('name must be a string', 'name'));
    },
  );
});

describe('M09 what is missing is named, with what helps', () => {
  test.each([
    [PROCEDURE, `Missing ${PROCEDURE}. Run 'directive update'.`],
    [CONTEXT, `Missing ${CONTEXT}. Run 'directive update'.`],
  ])('%s', async (path, message) => {
    const { error } = await call(await peerOf(without(WHOLE, path)), 'directive/tdr.template');
    expect(error).toMatchObject({
      code: 1001,
      message,
      data: { suggestion: expect.stringContaining('update') },
    });
  });

  test('a template', async () => {
    const path = templatePath('impact');
    const { error } = await call(await peerOf(without(WHOLE, path)), 'directive/impact.template');
    expect(error).toEqual({
      code: 1001,
      message: `Missing template: ${path}. Run 'directive update' or choose an existing template.`,
      data: {
        suggestion: expect.stringContaining('update'),
        availableTemplates: [templatePath('spec'), templatePath('tdr')],
      },
    });
  });

  test('everything: the procedure is asked for first, then the context', async () => {
    const peer = await peerOf({ 'directive/x': '' });
    expect((await call(peer, 'directive/spec.template')).error?.message).toContain(PROCEDURE);
  });

  test.each(['directive/files.list', 'directive/file.get', 'directive/spec.template'])(
    'the folder, for %s; it may come later',
    async (tool) => {
      const place = await placeWith({});
      const peer = openPeer(place);
      const message = "directive/ directory not found. Run 'directive init' to create it.";
      const args = { path: 'x' };
      expect((await call(peer, tool, args)).error).toMatchObject({ code: 1001, message });
      await mkdir(join(place, 'directive'));
      expect((await call(peer, tool, args)).error?.message).not.toBe(message);
      await rm(join(place, 'directive'), { recursive: true });
      expect((await call(peer, tool, args)).error).toMatchObject({ code: 1001, message });
    },
  );
});

describe('the place that is given', () => {
  test('may be the folder itself', async () => {
    const peer = openPeer(join(await placeWith(WHOLE), 'directive'));
    expect(payloadOf(await get(peer, CONTEXT))['content']).toBe(WHOLE[CONTEXT]);
  });

  test('may be reached through a link', async () => {
    const place = await placeWith(WHOLE);
    await symlink('.', join(place, 'again'));
    const peer = openPeer(join(place, 'again'));
    expect(payloadOf(await get(peer, CONTEXT))['content']).toBe(WHOLE[CONTEXT]);
  });

  test('is not left through a folder that is a link: a clone may hold any link', async () => {
    const place = await placeWith({ 'outside/secret.txt': 'SECRET', 'clone/x': '' });
    await symlink('../outside', join(place, 'clone/directive'));
    expect((await get(openPeer(join(place, 'clone')), 'secret.txt')).error).toMatchObject({ code: 1001 });
  });
});

test('M10 arguments that the tool does not know are ignored', async () => {
  const payload = payloadOf(
    await call(await peerOf(), 'directive/file.get', { path: CONTEXT, encoding: 'x' }),
  );
  expect(payload['content']).toBe(WHOLE[CONTEXT]);
});

describe('M11 a file that cannot be a text', () => {
  const KIB = 1024;
  test.each([
    ['not UTF-8', Buffer.from([0x61, 0xff, 0xfe]), 'File is not valid UTF-8'],
    ['cut inside a character', Buffer.from('é').subarray(0, 1), 'File is not valid UTF-8'],
    ['too large', Buffer.alloc(KIB * KIB + 1, 'x'), `File is larger than ${KIB * KIB} bytes`],
  ])('%s', async (_, bytes, details) => {
    expect((await get(await peerOf({ ...WHOLE, 'directive/odd.md': bytes }), 'odd.md')).error).toEqual(
      fault(details),
    );
  });

  test('the largest is read', async () => {
    const content = 'x'.repeat(KIB * KIB);
    const peer = await peerOf({ ...WHOLE, 'directive/large.md': content });
    expect(payloadOf(await get(peer, 'large.md'))['content']).toBe(content);
  });

  test('in a bundle, that is the reason, not that it is missing', async () => {
    const peer = await peerOf({ ...WHOLE, [CONTEXT]: Buffer.from([0xff]) });
    expect((await call(peer, 'directive/spec.template')).error).toEqual(fault('File is not valid UTF-8'));
  });
});

describe('M12 the older methods answer as the tools do, unwrapped', () => {
  test.each([
    { method: 'directive.files.list', tool: 'directive/files.list', params: undefined },
    { method: 'directive.file.get', tool: 'directive/file.get', params: { path: CONTEXT } },
    ...KINDS.map((kind) => ({ method: `${kind}.template`, tool: `directive/${kind}.template`, params: {} })),
  ])('$method', async ({ method, tool, params }) => {
    const peer = await peerOf();
    const { result } = await peer.ask(method, params);
    expect(JSON.stringify(result)).toBe(JSON.stringify(payloadOf(await call(peer, tool, params))));
  });

  test('their refusals too', async () => {
    const peer = await peerOf();
    expect((await peer.ask('directive.file.get')).error).toEqual(fault('path must be a string', 'path'));
    expect((await peer.ask('directive.file.get', { path: '../x' })).error).toEqual(fault(ESCAPE, 'path'));
  });

  test('an unknown method is named', async () => {
    const { error } = await (await peerOf()).ask('impact.templates');
    expect(error).toEqual({ code: -32_601, message: 'Method not found: impact.templates' });
  });
});

test('M13 a notification gets no answer', async () => {
  const peer = await peerOf();
  for (const method of ['notifications/initialized', 'tools/list', 'spec.template', 'no/such'])
    peer.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);
  await peer.ask('tools/list');
  expect(answersIn(await peer.end())).toHaveLength(1);
});

describe('M15 later names of the tools', () => {
  test.each([
    ['directive/files.get', 'directive/file.get'],
    ['directive/templates.spec', 'directive/spec.template'],
    ['directive/templates.impact', 'directive/impact.template'],
    ['directive/templates.tdr', 'directive/tdr.template'],
    ['directive_files_list', 'directive/files.list'],
  ])('%s is %s', async (later, name) => {
    const peer = await peerOf();
    const args = { path: CONTEXT };
    expect((await call(peer, later, args)).result).toEqual((await call(peer, name, args)).result);
  });
});

describe('--names portable', () => {
  test('lists names that every host accepts, with nothing else changed', async () => {
    const place = await placeWith(WHOLE);
    const exact = (await openPeer(place).ask('tools/list')).result?.['tools'] as { name: string }[];
    const portable = (await openPeer(place, { names: 'portable' }).ask('tools/list')).result?.['tools'];
    expect(portable).toEqual(exact.map((tool) => ({ ...tool, name: tool.name.replaceAll(/[/.]/g, '_') })));
  });

  test('answers under both names', async () => {
    const peer = openPeer(await placeWith(WHOLE), { names: 'portable' });
    for (const name of ['directive_tdr_template', 'directive/tdr.template'])
      expect(payloadOf(await call(peer, name))['template']).toMatchObject({ content: 'TDR TEMPLATE\n' });
  });
});
