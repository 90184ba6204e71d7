/** Keeps a few directives waiting under each of some limits all the time, and looks at what becomes of them.
 *  It must never judge: the rules do. */
import { setTimeout as delay } from 'node:timers/promises';
import { callLines } from './call-log.ts';
import { accountFlow, limitFields, type LimitName, LIMITS } from './flow-plan.ts';
import type { Fault } from './history.ts';
import { limitViolationsOf } from './limit-rules.ts';
import { chanceOf, type Chance } from './random.ts';
import type { System } from './system.ts';
import { notInTime } from './judgement.ts';
import { exchange, read } from './transport.ts';
import { type StreamedCall, turnViolationsOf } from './turn-rules.ts';
import type { WireRequest, WireSubmission } from './wire.ts';

export interface FlowWatch {
  judge(faults: readonly Fault[]): Promise<string[]>;
  line(): string;
}

interface Shape {
  readonly limit: LimitName;
  /** How many wait or run at any time, of each fairness key. */
  readonly callers: Readonly<Record<string, number>>;
  readonly lone?: string;
  /** The rule of the configuration limits it, not its caller. */
  readonly isByRule?: boolean;
  /** Longer than a lease, now and then. */
  readonly isLong?: boolean;
  /** Some change their priority while they wait. */
  readonly changes?: boolean;
}

const STREAMS: readonly Shape[] = [
  { limit: 'queue', callers: { many: 9, single: 1 }, lone: 'single' },
  { limit: 'long', callers: { some: 4 }, isLong: true },
  { limit: 'paced', callers: { some: 6 }, changes: true },
  { limit: 'account-1', callers: { some: 4 }, isByRule: true, changes: true },
];
/** Much longer than all that wait in a stream need. */
const DEADLINE_MS = 75_000;
const PATIENT = { max_retries: 20, retry_backoff_ms: 200, backoff: 'fixed', deadline_ms: DEADLINE_MS };
/** A step above the default is a head start of 30 s: with more, what is passed by may well wait until its deadline. */
const HIGHEST = 5;
const ASK_MS = 10_000;
const AGAIN_MS = { min: 50, max: 300 };
const CHANGED_AFTER_MS = { min: 0, max: 2_000 };

export function watchFlow(seed: string, { apiUrls: apis, folder }: System, minutes: number): FlowWatch {
  const until = Date.now() + minutes * 60_000;
  const all = STREAMS.map((shape) => watchStream(shape, { seed, apis, folder, until }));
  let noted = 0;
  return {
    async judge(faults) {
      const turns = await Promise.all(all.map(async ({ judge }) => judge(faults)));
      const lines = callLines(folder, 'limited-calls');
      noted = lines.length / 2;
      return [...limitViolationsOf(LIMITS, lines, faults), ...turns.flat()];
    },
    line: () => `limits: ${all.map(({ line }) => line()).join(', ')}, about ${Math.round(noted)} calls noted`,
  };
}

interface Place {
  readonly seed: string;
  readonly apis: readonly string[];
  readonly folder: string;
  readonly until: number;
}

interface Ended {
  readonly sent: Sent;
  readonly view: WireRequest;
  readonly errorType: string | null;
}

interface Sent {
  readonly id: string;
  readonly label: string;
  readonly fairnessKey: string;
  readonly priority: number;
  readonly body: Readonly<Record<string, unknown>>;
}

function watchStream(shape: Shape, place: Place) {
  const { seed, apis, folder, until } = place;
  const ended: Ended[] = [];
  const lost: string[] = [];
  let sentCount = 0;

  async function call(fairnessKey: string, caller: number): Promise<void> {
    const chance = chanceOf(`${seed}/flow/${shape.limit}/${fairnessKey}/${caller}`);
    while (Date.now() < until) {
      sentCount += 1;
      const sent = planCall(chance, shape, {
        fairnessKey,
        name: `chaos-${seed}-${shape.limit}-${sentCount}`,
      });
      const changes = shape.changes === true && chance.percent(40) ? prioritize(sent, chance, apis) : null;
      const end = await untilEnded(sent, chance, apis);
      await changes;
      if (end === null) lost.push(sent.id);
      else ended.push(end);
    }
  }

  const work = Promise.all(
    Object.entries(shape.callers).flatMap(([key, count]) =>
      Array.from({ length: count }, async (_, caller) => call(key, caller)),
    ),
  );
  return {
    line: () => `${shape.limit} ${ended.length}`,
    async judge(faults: readonly Fault[]): Promise<string[]> {
      await work;
      const begins = beginsIn(folder);
      const calls = ended.map((each) => streamed(each, begins.get(each.sent.label) ?? null));
      const isSerial = LIMITS[shape.limit] === LIMITS.queue;
      const stream = { name: shape.limit, isSerial, lone: shape.lone ?? null, calls };
      return [
        ...lost.map((id) => notInTime(`${id} was never seen closed`)),
        ...turnViolationsOf(stream, faults),
      ];
    },
  };
}

function beginsIn(folder: string): Map<string, number> {
  const begins = new Map<string, number>();
  for (const { what, label, at } of callLines(folder, 'limited-calls'))
    if (what === 'begin' && !begins.has(label)) begins.set(label, at);
  return begins;
}

function streamed({ sent, view, errorType }: Ended, beganAt: number | null): StreamedCall {
  const [directive] = view.directives;
  const [acceptedAt, endedAt] = [directive?.accepted_at, view.closed_at].map((at) => Date.parse(at ?? ''));
  return {
    id: sent.id,
    line: sent.fairnessKey,
    priority: sent.priority,
    acceptedAt: acceptedAt ?? Number.NaN,
    deadlineAt: (acceptedAt ?? Number.NaN) + DEADLINE_MS,
    endedAt: endedAt ?? Number.NaN,
    beganAt,
    errorType,
  };
}

/** Each is a request of its own. */
function planCall(
  chance: Chance,
  { limit, isByRule, isLong }: Shape,
  { fairnessKey, name }: { fairnessKey: string; name: string },
): Sent {
  const label = `flow/${name}`;
  const priority = chance.pick([4, 4, 4, HIGHEST]);
  const { server } = LIMITS[limit];
  const flow =
    isByRule === true ? accountFlow(limit) : { args: { limits: [limit] }, fields: limitFields([limit]) };
  const delayMs =
    isLong === true && chance.percent(30) ? chance.between(4_500, 6_000) : chance.between(50, 300);
  const body = {
    type: 'tool_exec',
    request_id: name,
    id: 'call',
    tool_name: `${server}.idempotent`,
    arguments: { label, a: 1, b: 2, delay_ms: delayMs, ...flow.args },
    priority,
    fairness_key: fairnessKey,
    ...flow.fields,
    ...PATIENT,
  };
  return { id: name, label, fairnessKey, priority, body };
}

/** The same body until its end is known; null: nobody says it. */
async function untilEnded(sent: Sent, chance: Chance, apis: readonly string[]): Promise<Ended | null> {
  const giveUpAt = Date.now() + 2 * DEADLINE_MS;
  while (Date.now() < giveUpAt) {
    const path = `/v1/directives?wait_ms=${ASK_MS}`;
    const { status, body } = await exchange(chance.pick(apis), 'POST', path, { body: sent.body });
    const result =
      status === 200 || status === 202 ? (body as WireSubmission).directives[0]?.result : undefined;
    if (result === undefined) {
      await delay(chance.between(AGAIN_MS.min, AGAIN_MS.max));
      continue;
    }
    const view = await read<WireRequest>(apis, `/v1/requests/${sent.id}`);
    const said = result.data.result;
    if (view?.status === 200 && view.body.closed_at !== null)
      return { sent, view: view.body, errorType: said === undefined || said.ok ? null : said.error.type };
  }
  return null;
}

/** Whatever becomes of it: it may wait, run or be over. */
async function prioritize({ id }: Sent, chance: Chance, apis: readonly string[]): Promise<void> {
  await delay(chance.between(CHANGED_AFTER_MS.min, CHANGED_AFTER_MS.max));
  const path = `/v1/requests/${id}/directives/call/priority`;
  await exchange(chance.pick(apis), 'POST', path, { body: { priority: chance.between(4, HIGHEST) } });
}
