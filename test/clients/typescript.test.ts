/** The types that openapi-typescript makes of the service's description: a program with them compiles, runs, and fails to compile where it is wrong.
 *  Public rule: docs/http-api.md, "Generated clients". */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shared, useRedis } from '../support/shared.ts';
import { OUTCOME, output, startScene } from './scene.ts';

const redis = useRedis();
const scene = shared(async () => startScene(redis.url));

const HOOK = join(import.meta.dirname, 'typescript-hook.mjs');
const MODULES = join(import.meta.dirname, '../../node_modules');

const PROGRAM = `
import type { components, operations } from './api.d.ts';

type Schemas = components['schemas'];
type Sent<Name extends keyof operations> = operations[Name] extends { requestBody?: { content: { 'application/json': infer Body } } } ? Body : never;

const base = process.argv[2] ?? '';
async function call<Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(base + path, { method, headers, ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}

const directive: Schemas['ToolExec'] = { type: 'tool_exec', tool_name: 'peer.echo', arguments: { message: 'hi' } };
const submitted: Sent<'submit'> = directive;
const submission = await call<Schemas['Submission']>('POST', '/v1/directives?wait_ms=60000', submitted);
const end = submission.directives[0]?.result;
if (end?.type !== 'ai.tool.result') throw new Error(JSON.stringify(submission));
const toolEnd: Schemas['SignalToolResult'] = end;

const run: Sent<'runs.start'> = { agent: 'talker', query: 'hello' };
const started = await call<Schemas['StartedRun']>('POST', '/v1/requests', run);
let last: Schemas['Signal'] | undefined;
for (let closed = false; !closed; ) {
  const page = await call<Schemas['SignalPage']>('GET', \`/v1/requests/\${started.request_id}/signals?after=\${last?.sequence ?? 0}\`);
  last = page.signals.at(-1) ?? last;
  closed = page.closed;
}

const delayed = await call<Schemas['Submission']>('POST', '/v1/directives', { ...directive, delay_ms: 3_600_000 } satisfies Sent<'submit'>);
const cancelled = await call<Schemas['Cancellation']>('POST', \`/v1/requests/\${delayed.request_id}/cancel\`, { reason: 'test' } satisfies Sent<'cancel'>);
console.log(JSON.stringify({ result: toolEnd.type, last: last?.type, cancelled: cancelled.directives[0]?.status }));
`;

const WRONG = `
import type { components } from './api.d.ts';
export const named: components['schemas']['SubmittedDirective'] = { type: 'tool_exec', tool: 'peer.echo' };
`;

const OPTIONS = [
  '--noEmit',
  '--strict',
  '--target',
  'es2024',
  '--module',
  'nodenext',
  '--moduleDetection',
  'force',
];
const FLAGS = [
  ...OPTIONS,
  '--allowImportingTsExtensions',
  '--types',
  'node',
  '--typeRoots',
  join(MODULES, '@types'),
];

test(
  'a TypeScript program submits, starts a run, reads its signals and cancels',
  { timeout: 300_000 },
  async () => {
    const { folder, url } = scene;
    const generator = join(MODULES, 'openapi-typescript/bin/cli.js');
    const given = ['openapi.json', '-o', 'api.d.ts', '--default-non-nullable=false'];
    await output(process.execPath, ['--import', HOOK, generator, ...given], { folder });
    writeFileSync(join(folder, 'program.mts'), PROGRAM);
    writeFileSync(join(folder, 'wrong.mts'), WRONG);
    const tsc = join(MODULES, '.bin/tsc');
    await output(tsc, [...FLAGS, 'program.mts'], { folder });
    await expect(output(tsc, [...FLAGS, 'wrong.mts'], { folder })).rejects.toThrow('tool_name');
    expect(JSON.parse(await output(process.execPath, ['program.mts', url], { folder }))).toEqual(OUTCOME);
  },
);
