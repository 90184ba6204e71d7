/** Processes that die as they have the answer to what they submit: nothing of them reaches Redis from then on.
 *  It must never send Redis what the service would not have sent by then. */
import { randomUUID } from 'node:crypto';
import { parseSubmission, type SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { startRunBodySchema } from '../../src/contract/run/run.ts';
import { defineAgent } from '../../src/agents/define-agent.ts';
import { runAccess } from '../../src/service/run-access.ts';
import { createRegistry } from '../../src/worker/executors/registry.ts';
import { DEFAULT_REQUEST_BYTES } from '../../src/store/request/journal.ts';
import { createPreparer } from '../../src/directives/prepare.ts';
import { createSubmitter } from '../../src/directives/submit.ts';
import { NO_REPORTS } from '../../src/platform/telemetry/reports.ts';
import { newTraceparent } from '../../src/platform/telemetry/traces/trace-context.ts';
import { openStore } from './store.ts';
import { emitToolError } from '../../src/worker/executors/emit.ts';

type OpenStore = Awaited<ReturnType<typeof openStore>>;

const requestBytes = DEFAULT_REQUEST_BYTES;
const YEAR_MS = 365 * 86_400_000;
const CALL = { type: 'tool_exec', tool_name: 'test.echo' } as const;
/** The sweeper does not look at them soon, if at all. */
const UNSWEPT: readonly SubmittedDirective[] = [
  { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' },
  { ...CALL, tool_name: 'nowhere.echo' },
  { ...CALL, delay_ms: YEAR_MS },
];

/** What the sweeper does not look at soon, if at all. Resolves to the requests. */
export async function submittedByTheDead(redisUrl: string, prefix: string): Promise<string[]> {
  const submissions = UNSWEPT.map((each) => submittedByDead(redisUrl, prefix, each));
  return Promise.all([
    ...submissions,
    dying(redisUrl, prefix, startLater),
    debouncedByDead(redisUrl, prefix),
  ]);
}

/** Under the same key each time. Resolves to the request. */
export async function debouncedByDead(redisUrl: string, prefix: string, text = ''): Promise<string> {
  const debounce = { key: 'k', quiet_ms: 3_600_000 };
  return submittedByDead(redisUrl, prefix, { ...CALL, arguments: { text }, debounce });
}

async function submittedByDead(
  redisUrl: string,
  prefix: string,
  directive: SubmittedDirective,
): Promise<string> {
  return dying(redisUrl, prefix, (open) => submit(open, directive));
}

async function dying(
  redisUrl: string,
  prefix: string,
  work: (open: OpenStore) => Promise<string>,
): Promise<string> {
  await using open = await openStore(redisUrl, { prefix });
  const requestId = await work(open);
  open.connection.disconnect();
  return requestId;
}

async function submit({ store, journal, index }: OpenStore, directive: SubmittedDirective): Promise<string> {
  const parsed = parseSubmission(directive);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const { executeImmediately } = createRegistry([emitToolError]);
  const submitter = createSubmitter({
    journal,
    index,
    entrance: store.queue.entrance,
    preparer: createPreparer(store.catalog, executeImmediately),
    capacity: { reserve: async () => async () => {}, requireMemory: async () => {} },
    canceller: store.queue.canceller,
    argumentsBytes: 1_000_000,
    requestBytes,
    reports: NO_REPORTS,
  });
  return (await submitter.submit(parsed.directives)).request_id;
}

async function startLater({ store }: OpenStore): Promise<string> {
  const { catalog } = store;
  await catalog.published.agents.publish([defineAgent({ name: 'a', model: 'x/y' })]);
  const { starter } = runAccess(store, { capacity: null, requestBytes });
  const request_id = randomUUID();
  const run = startRunBodySchema.parse({ agent: 'a', query: 'q', delay_ms: YEAR_MS });
  const started = await starter.start({ ...run, request_id }, newTraceparent());
  if (!started.ok) throw new Error(started.refusal.detail);
  return started.run.request_id;
}
