/** Recorded cases as a user has them: a real run with a real MCP server is recorded, replayed offline, compared and evaluated.
 *  It must not build a case by hand where a service can record one. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ReplayDiffers, startTestKit, type TestKit } from 'adjutant/testing';
import { cliFolder, type Run, startCli } from '../support/cli.ts';
import { runCommand } from '../support/command.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { untilListed } from '../support/eventually.ts';

const CASES = resolve('examples/testing/cases');
const ADDER = { system_prompt: 'You add numbers.', tools: ['peer.add', 'peer.echo'] };
const SECRET = 'hunter2-hunter2';

let home: string;
let kit: TestKit;

beforeAll(async () => {
  home = await cliFolder({ 'adjutant.json': { agents: { adder: ADDER } } });
  const mcpServers = { peer: ownServerEntry('legacy-peer.ts') };
  kit = await startTestKit({ config: { agents: { adder: ADDER }, mcpServers } });
  await untilListed(kit.url, 'peer.add');
  kit.model.wants(
    { tool: 'peer.add', arguments: { a: 2, b: 3 } },
    { tool: 'peer.echo', arguments: { password: SECRET, said: `it is ${SECRET}` } },
  );
  kit.model.says('The sum is 5.');
  await kit.client.runs.run({ agent: 'adder', query: 'What is 2 + 3?', request_id: 'sum' });
  await writeFile(join(home, 'sum.jsonl'), (await adjutant('record', 'sum')).stdout);
});

afterAll(async () => {
  await kit.stop();
  await rm(home, { recursive: true, force: true });
});

async function adjutant(...args: string[]): Promise<Run> {
  return startCli(args, { cwd: home, env: { ADJUTANT_URL: kit.url } }).ended;
}

/** Further cases of a command that a process has run. */
const inside = async (...args: string[]): Promise<Run> => runCommand(args, kit.url);

/** The case with other texts in it. */
async function changed(from: string, to: string): Promise<string> {
  const file = join(home, `changed-${to.replaceAll(/\W/g, '')}.jsonl`);
  await writeFile(file, (await readFile(join(home, 'sum.jsonl'), 'utf8')).replaceAll(from, to));
  return file;
}

describe('record', () => {
  test('prints one head with its version, and no value of a member with the name of a secret', async () => {
    const { code, stdout } = await inside('record', 'sum');
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string });
    expect(lines[0]).toMatchObject({ kind: 'case', format: 1, request_id: 'sum', agent: 'adder' });
    expect(lines.map(({ kind }) => kind)).toEqual([
      'case',
      'tool',
      'tool',
      'model',
      'call',
      'call',
      'model',
      'end',
    ]);
    expect(stdout).not.toContain(SECRET);
    expect(stdout).toContain('it is [REDACTED]');
  });

  test('says that a request does not exist', async () => {
    const { code, stderr } = await inside('record', 'nothing');
    expect(code).toBe(1);
    expect(stderr).toContain('there is no request "nothing"');
  });
});

describe('replay', () => {
  const config = { agents: { adder: ADDER } };

  test('strict: models and tools answer from the record, without their server', async () => {
    await using again = await startTestKit({ replay: join(home, 'sum.jsonl'), config });
    const replayed = await again.replay.run();
    expect(replayed.comparison).toMatchObject({ parted: null, same_calls: true, same_end: true });
    expect(replayed.run.result).toBe('The sum is 5.');
    expect(again.tools.calls.map(({ tool }) => tool).toSorted()).toEqual(['peer.add', 'peer.echo']);
    // Each run replays the case from its beginning.
    expect((await again.replay.run()).left).toBeNull();
  });

  test('strict: the first difference fails with its place and both values', async () => {
    const agents = { adder: { ...ADDER, system_prompt: 'You subtract numbers.' } };
    await using again = await startTestKit({ replay: join(home, 'sum.jsonl'), config: { agents } });
    const failure = await again.replay.run().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ReplayDiffers);
    expect((failure as ReplayDiffers).difference).toEqual({
      place: 'model call 1, messages[0].content',
      a: 'You add numbers.',
      b: 'You subtract numbers.',
    });
    expect((failure as Error).message).toContain('recorded "You add numbers.", now "You subtract numbers."');
    expect(again.tools.calls).toEqual([]);
  });

  test('loose: the difference is noted, and the run goes on', async () => {
    const replay = { file: join(home, 'sum.jsonl'), mode: 'loose' } as const;
    const agents = { adder: { ...ADDER, system_prompt: 'You subtract numbers.' } };
    await using again = await startTestKit({ replay, config: { agents } });
    const { left, run, comparison } = await again.replay.run();
    expect(left?.place).toBe('model call 1, messages[0].content');
    expect(run.status).toBe('completed');
    expect(comparison.same_calls).toBe(true);
  });

  test('a tool of the test takes the place of a recorded one', async () => {
    const file = await changed('The sum is 5.', 'The sum is five.');
    const tools = { peer: { add: { run: () => ({ sum: 6 }) }, echo: { run: () => 'other' } } };
    await using again = await startTestKit({ replay: file, tools, config });
    const failure = await again.replay.run().catch((error: unknown) => error);
    expect((failure as ReplayDiffers).difference.place).toMatch(
      /^model call 2, messages\[\d\]\.content\.result$/,
    );
  });
});

describe('diff', () => {
  test('finds nothing between a request and its record', async () => {
    await writeFile(join(home, 'one.jsonl'), (await inside('record', 'sum')).stdout);
    const { code, stdout } = await adjutant('diff', 'one.jsonl', 'sum.jsonl');
    expect(stdout).toContain('the same');
    expect(code).toBe(0);
  });

  test('shows where two requests part, with both values; exit 1', async () => {
    const { code, stdout } = await inside(
      'diff',
      join(home, 'sum.jsonl'),
      await changed('"sum":5', '"sum":6'),
    );
    expect(code).toBe(1);
    expect(stdout).toContain('part at turn 1, call peer.add, result.payload.sum');
    expect(stdout).toMatch(/- 5\n\s+\+ 6/);
  });

  test('prints one JSON value a line, the whole comparison last', async () => {
    const { stdout } = await inside('diff', join(home, 'sum.jsonl'), 'sum', '--json');
    const values = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(values).toHaveLength(3);
    expect(values[2]).toMatchObject({ a: { turns: 2, calls: 2 }, b: { turns: 2, calls: 2 } });
  });
});

describe('eval', () => {
  test('the cases of the repository still go as recorded', async () => {
    const { code, stdout, stderr } = await adjutant('eval', CASES, '--offline');
    expect(stdout + stderr).toContain('1 of 1 runs passed');
    expect(code).toBe(0);
  });

  test('another model runs against the recorded tools; the table says where it left the record', async () => {
    const folder = join(home, 'live');
    const turns = [
      { when: { user: '2 + 3', tool_results: true }, text: 'It is 5.' },
      { when: { user: '2 + 3' }, tool_calls: [{ name: 'peer.add', arguments: { a: 3, b: 2 } }] },
    ];
    const providers = { scripted: { type: 'scripted', file: join(home, 'turns.json') } };
    const score =
      "export const says = { name: 'says-5', score: ({ actual }) => /5/.test(actual.head.end.result) };";
    await cp(CASES, folder, { recursive: true });
    await writeFile(join(home, 'turns.json'), JSON.stringify({ turns }));
    await writeFile(join(home, 'live.json'), JSON.stringify({ agents: { adder: ADDER }, providers }));
    await writeFile(join(home, 'score.mjs'), score);
    const args = ['eval', folder, '--config', 'live.json', '--model', 'scripted:turns', '--times', '2'];
    const other = await adjutant(...args);
    expect(other.code).toBe(1);
    expect(other.stdout).toContain('left the record at call peer.add, arguments.a: recorded 2, now 3');
    expect(other.stdout).toContain('0 of 2 runs passed');
    const scored = await adjutant(...args, '--scores', 'score.mjs', '--json');
    expect(scored.code).toBe(0);
    const rows = scored.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(rows).toMatchObject(
      [1, 2].map((run) => ({ run, passed: true, same_calls: false, scores: [{ name: 'says-5', value: 1 }] })),
    );
  });

  test('names the line of a file that is no case', async () => {
    await writeFile(join(home, 'bad.jsonl'), '{"kind":"case","__proto__":{"a":1}}\n');
    const { code, stderr } = await inside('eval', join(home, 'bad.jsonl'), '--offline');
    expect(code).toBe(1);
    expect(stderr).toContain('bad.jsonl:1 is not a recorded case: __proto__ is not allowed as a key');
  });
});
