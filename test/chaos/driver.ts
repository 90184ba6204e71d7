/** Executes the plan of one request: submits, repeats, collides, cancels, follows; and records the answers.
 *  It must never judge an answer: the checker does. */
import { setTimeout as delay } from 'node:timers/promises';
import { cancelOnce } from './canceller.ts';
import { follow } from './follower.ts';
import { createRequestHistory, type RequestHistory, type SubmissionRecord } from './history.ts';
import type { Act, FollowUp, Plan, PlannedCancel, PlannedChange, PlannedDirective } from './plan.ts';
import { chanceOf, type Chance } from './random.ts';
import { respond } from './respondent.ts';
import { exchange, type ExchangeOptions } from './transport.ts';
import type { WireSubmission } from './wire.ts';

const AGAIN_MS = { min: 50, max: 400 };
/** A submission that is not accepted for this long is given up; the outages of a run are much shorter. */
const PATIENCE_MS = 60_000;

export interface Drive {
  readonly history: RequestHistory;
  /** Resolves when everything planned was sent and answered. */
  readonly done: Promise<void>;
  /** Ends the live reader. */
  leave(): void;
}

export function drive(plan: Plan, apis: readonly string[]): Drive {
  const history = createRequestHistory(plan.requestId);
  const chance = chanceOf(`${plan.requestId}/drive`);
  const leaving = new AbortController();
  const acts = Promise.all(plan.acts.map(async (act) => carryOut(act, { history, apis, chance }))).then(
    () => {},
  );
  if (plan.followed) void follow(history, apis, leaving.signal);
  const asks = plan.acts.some(({ directives }) => directives.some((each) => each.asks === true));
  if (asks) void respond({ history, apis, chance: chanceOf(`${plan.requestId}/answers`) }, leaving.signal);
  return { history, done: acts, leave: () => leaving.abort() };
}

interface Stage {
  readonly history: RequestHistory;
  readonly apis: readonly string[];
  readonly chance: Chance;
}

async function carryOut(act: Act, stage: Stage): Promise<void> {
  await delay(act.atMs);
  const copies = Array.from({ length: act.copies }, async () => submitUntilAnswered(act, stage));
  const cancels = act.cancels.map(async (planned) => cancel(planned, stage));
  const changes = act.changes.map(async (planned) => prioritize(planned, stage));
  const accepted = (await Promise.all(copies)).some(Boolean);
  const followUps = accepted ? act.followUps.map(async (next) => followUp(next, act, stage)) : [];
  await Promise.all([...cancels, ...changes, ...followUps]);
}

/** True when some answer reports that the directives are accepted. */
async function submitUntilAnswered(act: Act, stage: Stage): Promise<boolean> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  for (let first = true; Date.now() < giveUpAt; first = false) {
    const cut = first && act.cutAfterMs !== null ? { cutAfterMs: act.cutAfterMs } : {};
    const { status } = await submit('submit', act.directives, act, stage, cut);
    if (status === 200 || status === 202) return true;
    if (act.givesUp) return false;
    if (status !== 'lost' && status !== 503 && status !== 429) return false;
    await delay(stage.chance.between(AGAIN_MS.min, AGAIN_MS.max));
  }
  return false;
}

async function submit(
  purpose: SubmissionRecord['purpose'],
  directives: readonly PlannedDirective[],
  { traceparent, waitMs }: Pick<Act, 'traceparent' | 'waitMs'>,
  { history, apis, chance }: Stage,
  options: Pick<ExchangeOptions, 'cutAfterMs'> & { body?: unknown } = {},
): Promise<SubmissionRecord> {
  const api = chance.pick(apis);
  const bodies = directives.map(({ body }) => body);
  const body = options.body ?? (bodies.length === 1 ? bodies[0] : { directives: bodies });
  const record: SubmissionRecord = {
    purpose,
    directives,
    traceparent,
    api,
    sentAt: Date.now(),
    answeredAt: Number.POSITIVE_INFINITY,
    status: 'lost',
    code: 'still waiting',
    verdicts: new Map(),
    results: new Map(),
  };
  history.submissions.push(record);
  const path = waitMs === null ? '/v1/directives' : `/v1/directives?wait_ms=${waitMs}`;
  const headers = traceparent === null ? {} : { traceparent };
  const answer = await exchange(api, 'POST', path, { headers, ...options, body });
  record.answeredAt = answer.answeredAt;
  record.status = answer.status;
  record.code = (answer.body as { code?: string }).code ?? '';
  if (answer.status === 200 || answer.status === 202) readSubmission(record, answer.body as WireSubmission);
  return record;
}

function readSubmission(record: SubmissionRecord, { directives }: WireSubmission): void {
  record.verdicts = new Map(directives.map(({ id, status }) => [id, status]));
  record.results = new Map(
    directives.flatMap(({ id, result }) => (result === undefined ? [] : [[id, result.id] as const])),
  );
}

async function followUp(next: FollowUp, act: Act, stage: Stage): Promise<void> {
  await delay(next.afterMs);
  switch (next.kind) {
    case 'repeat': {
      const directives = next.single ? act.directives.slice(0, 1) : act.directives;
      return void (await submit('repeat', directives, { ...act, waitMs: null }, stage));
    }
    case 'conflict':
      return collide(next.bystanders, act, stage);
    case 'invalid': {
      const broken = { type: 'tool_exec', tool_name: 'alpha.read', timeout_ms: 'soon' };
      const body = { directives: [...next.bystanders.map((each) => each.body), broken] };
      return void (await submit('invalid', next.bystanders, { ...act, waitMs: null }, stage, { body }));
    }
  }
}

/** The id of an accepted directive with other content, between new and unrelated directives. */
async function collide(bystanders: readonly PlannedDirective[], act: Act, stage: Stage): Promise<void> {
  const [first] = act.directives;
  if (first === undefined) return;
  const other = { ...first.body, metadata: { other: 'content' } };
  const body = { directives: [...bystanders.map((each) => each.body), other] };
  await submit('conflict', bystanders, { ...act, waitMs: null }, stage, { body });
}

async function cancel({ afterMs, id, copies }: PlannedCancel, stage: Stage): Promise<void> {
  await delay(afterMs);
  await Promise.all(Array.from({ length: copies }, async () => cancelOnce(id, stage)));
}

/** While it waits, runs, or is over. */
async function prioritize(
  { afterMs, directive, priority }: PlannedChange,
  { history, apis, chance }: Stage,
): Promise<void> {
  await delay(afterMs);
  const path = `/v1/requests/${history.requestId}/directives/${directive.id}/priority`;
  const { status } = await exchange(chance.pick(apis), 'POST', path, { body: { priority } });
  history.changes.push({ directive, priority, status });
}
