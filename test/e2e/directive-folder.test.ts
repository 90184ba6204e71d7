/** `init --directive`, `update` and `bundle`, as a person runs them in a folder.
 *  It must not know our texts by heart, only what everyone relies on. */
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Run, startCli } from '../support/cli.ts';
import { CONTEXT, placeWith, PROCEDURE, templatePath, WHOLE } from '../support/directive-server.ts';

const TEMPLATES = ['spec', 'impact', 'tdr'].map(templatePath);
const FILES = [PROCEDURE, CONTEXT, ...TEMPLATES].toSorted();

async function run(cwd: string, ...args: string[]): Promise<Run> {
  return startCli(args, { cwd }).ended;
}

async function filesIn(place: string): Promise<string[]> {
  const entries = await readdir(join(place, 'directive'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(place.length + 1))
    .toSorted();
}

async function textAt(place: string, path: string): Promise<string> {
  return readFile(join(place, path), 'utf8');
}

test('CLI1 init creates the folder, and a second time changes nothing; upstream: cli: init and bundle', async () => {
  const place = await placeWith({});
  const first = await run(place, 'init', '--directive');
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('(copied 5, skipped 0)') });
  expect(await filesIn(place)).toEqual(FILES);
  await writeFile(join(place, PROCEDURE), 'mine');
  const second = await run(place, 'init', '--directive');
  expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('(copied 0, skipped 5)') });
  expect(await textAt(place, PROCEDURE)).toBe('mine');
  const { code, stdout } = await run(place, 'bundle', 'spec_template.md');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { primer: expect.any(String), template: { path: expect.stringMatching(/spec_template\.md$/) } },
  ]);
});

describe('CLI2 update', () => {
  test('without a folder fails, and says what to run', async () => {
    const place = await placeWith({});
    for (const verb of [['update'], ['bundle', 'spec_template.md']]) {
      const { code, stderr } = await run(place, ...verb);
      expect(code).toBe(1);
      expect(stderr).toContain('init --directive');
      expect(stderr).not.toContain("'directive init'");
    }
    const nowhere = await run(place, 'directive-server', '--root', join(place, 'nope'));
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('does not exist') });
    expect(await readdir(place)).toEqual([]);
  });

  test('renews what is ours; context and specs stay as they are', async () => {
    const spec = 'directive/specs/20260101-x/spec.md';
    const mine = { ...WHOLE, [spec]: 'my spec', 'directive/own.md': 'own' };
    const place = await placeWith(mine);
    const dry = await run(place, 'update', '--dry-run');
    expect(dry.stdout).toContain(`updated ${PROCEDURE}`);
    expect(await textAt(place, PROCEDURE)).toBe(WHOLE[PROCEDURE]);

    const { code, stdout } = await run(place, 'update');
    expect([code, stdout]).toEqual([0, expect.stringContaining('(copied 4, left 1 unchanged)')]);
    for (const path of [CONTEXT, spec, 'directive/own.md'] as const)
      expect(await textAt(place, path)).toBe(mine[path as keyof typeof mine]);
    for (const path of [PROCEDURE, ...TEMPLATES]) expect(await textAt(place, path)).not.toBe(WHOLE[path]);
    expect((await run(place, 'update')).stdout).toContain('(copied 0, left 5 unchanged)');
  });

  test('writes beside a link, not through it', async () => {
    const place = await placeWith({ 'elsewhere.md': 'elsewhere', [CONTEXT]: 'mine' });
    await symlink('../../elsewhere.md', join(place, PROCEDURE));
    expect((await run(place, 'update')).code).toBe(0);
    expect(await textAt(place, 'elsewhere.md')).toBe('elsewhere');
    expect(await filesIn(place)).toEqual(FILES);
  });

  test('explains a folder where it may not write', async () => {
    const place = await placeWith({ 'directive/reference': 'a file in place of the folder' });
    const { code, stderr } = await run(place, 'update');
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be written')]);
  });
});

describe('a folder that is a link', () => {
  test.each([
    ['directive', '../outside'],
    ['directive/reference', '../../outside'],
    ['directive/reference/templates', '../../../outside'],
  ])('%s: nothing is written, and the answer names it', async (path, target) => {
    const holder = await placeWith({});
    const [place, outside] = [join(holder, 'project'), join(holder, 'outside')];
    await mkdir(dirname(join(place, path)), { recursive: true });
    await mkdir(outside);
    await symlink(target, join(place, path));
    const before = await readdir(holder, { recursive: true });
    for (const args of [['init', '--directive'], ['update'], ['update', '--dry-run']]) {
      const { code, stdout, stderr } = await run(place, ...args);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`${path} is a link`);
      expect(stderr).toContain(`Replace ${path} by a folder`);
      expect(await readdir(holder, { recursive: true })).toEqual(before);
    }
  });

  test('is refused though it leads to no folder', async () => {
    const place = await placeWith({ 'a.md': 'a' });
    await symlink('nowhere', join(place, 'directive'));
    const { code, stderr } = await run(place, 'init', '--directive');
    expect([code, stderr]).toEqual([1, expect.stringContaining('directive is a link')]);
    expect((await readdir(place)).toSorted()).toEqual(['a.md', 'directive']);
  });
});

describe('CLI3 bundle', () => {
  test('prints JSON with an indent of 2, as the tool returns it', async () => {
    const place = await placeWith(WHOLE);
    const { code, stdout } = await run(place, 'bundle', 'impact_template.md');
    const path = templatePath('impact');
    expect(code).toBe(0);
    expect(stdout).toBe(
      `${JSON.stringify(
        {
          primer: '- Do not write code before the review.',
          agentOperatingProcedure: { path: PROCEDURE, content: WHOLE[PROCEDURE] },
          agentContext: { path: CONTEXT, content: WHOLE[CONTEXT] },
          template: { path, content: WHOLE[path] },
          resources: [{ path: PROCEDURE }, { path: CONTEXT }, { path }],
        },
        null,
        2,
      )}\n`,
    );
  });

  test('of a template that is missing lists the others', async () => {
    const place = await placeWith(WHOLE);
    await rm(join(place, templatePath('tdr')));
    const { code, stdout, stderr } = await run(place, 'bundle', 'tdr_template.md');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`Missing template: ${templatePath('tdr')}`);
    expect(stderr).toContain(
      `Available templates:\n - ${templatePath('impact')}\n - ${templatePath('spec')}\n`,
    );
    expect(stderr).toContain('adjutant update');
  });

  test('of another name is a usage error', async () => {
    const place = await placeWith(WHOLE);
    expect(await run(place, 'bundle', '../../x.md')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('the texts that init writes', () => {
  test('have a primer of their own, and name no file that is not there', async () => {
    const place = await placeWith({});
    await run(place, 'init', '--directive');
    const procedure = await textAt(place, PROCEDURE);
    expect(procedure).toMatch(/^\*\*Do not write code/m);
    const named = [...procedure.matchAll(/`(?<path>directive\/reference\/[^`]*)`/g)];
    expect(named.length).toBeGreaterThan(1);
    const files = await filesIn(place);
    for (const { groups } of named)
      expect(files.some((path) => path.startsWith(groups?.['path'] ?? '?'))).toBe(true);
  });
});
