/** Submits under the same keys all the time, to whichever API, and looks at what there is of it.
 *  It must never judge: the rules do. */
import { setTimeout as delay } from 'node:timers/promises';
import { executionsOf } from './executions.ts';
import { type OnceKind, onceViolationsOf } from './once-rules.ts';
import { chanceOf } from './random.ts';
import type { FiredRequest } from './schedule-rules.ts';
import { closedRequest } from './schedule-watch.ts';
import { notInTime } from './judgement.ts';
import type { System } from './system.ts';
import { exchange } from './transport.ts';
import type { WireSubmission } from './wire.ts';

const WINDOW_MS = 2_500;
/** Of each of its callers. */
const EVERY_MS = { min: 50, max: 700 };
const CALLERS = 2;
/** Often enough that no closed request is forgotten before. */
const LOOK_MS = 5_000;
const PATIENCE_MS = 90_000;

export interface OnceWatch {
  judge(): Promise<string[]>;
  line(): string;
}

export function watchOnce(seed: string, { apiUrls: apis, folder }: System, minutes: number): OnceWatch {
  const until = Date.now() + minutes * 60_000;
  const all = (['dedupe', 'singleton'] as const).map((kind) => watchKey(kind, { seed, apis, folder, until }));
  return {
    judge: async () => (await Promise.all(all.map(async ({ judge }) => judge()))).flat(),
    line: () => `keys: ${all.map(({ line }) => line()).join(', ')}`,
  };
}

interface Place {
  readonly seed: string;
  readonly apis: readonly string[];
  readonly folder: string;
  readonly until: number;
}

function watchKey(kind: OnceKind, { seed, apis, folder, until }: Place) {
  const label = `once/${seed}/${kind}`;
  const named = new Set<string>();
  const requests = new Map<string, FiredRequest>();
  let [lost, sent] = [0, 0];
  const once = kind === 'dedupe' ? { key: label, window_ms: WINDOW_MS } : { key: label, when_open: 'join' };
  const call = { type: 'tool_exec', tool_name: 'gamma.read', max_retries: 20, deadline_ms: 40_000 };
  const body = { ...call, arguments: { label, a: 1, b: 2, delay_ms: 600 }, [kind]: once };

  async function submit(caller: number): Promise<void> {
    const chance = chanceOf(`${label}/${caller}`);
    while (Date.now() < until) {
      const { status, body: answer } = await exchange(chance.pick(apis), 'POST', '/v1/directives', { body });
      sent += 1;
      if (status === 200 || status === 202) named.add((answer as WireSubmission).request_id);
      else lost += 1;
      await delay(chance.between(EVERY_MS.min, EVERY_MS.max));
    }
  }

  async function look(): Promise<void> {
    for (const id of named) {
      const closed = requests.has(id) ? null : await closedRequest(apis, id);
      if (closed !== null) requests.set(id, closed);
    }
  }

  async function watch(): Promise<void> {
    const isOver = (): boolean => Date.now() > until && requests.size === named.size;
    for (; !isOver() && Date.now() < until + PATIENCE_MS; await delay(LOOK_MS)) await look();
  }

  const work = Promise.all([
    watch(),
    ...Array.from({ length: CALLERS }, async (_, caller) => submit(caller)),
  ]);
  return {
    line: () => `${kind} ${sent} submitted, ${requests.size} began`,
    async judge(): Promise<string[]> {
      await work;
      const unseen = [...named]
        .filter((id) => !requests.has(id))
        .map((id) => notInTime(`${kind}: ${id} was never seen closed`));
      const executions = executionsOf(folder, label);
      return [...unseen, ...onceViolationsOf({ kind, windowMs: WINDOW_MS, requests, lost, executions })];
    },
  };
}
