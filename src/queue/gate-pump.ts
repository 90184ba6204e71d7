// Checks the gate of each lane when a directive is due there, and every second. Each process has one, and any of them
// is enough.
import type { Gate } from '../store/limits/gate.ts';
import { asError, pause, settledWithin, type Startable } from '../platform/lifecycle.ts';
import type { GateNews } from './gate-news.ts';
import type { TendGate } from './gate-tending.ts';

/** A gate is looked at this often at least, and the list of gates. */
const LOOK_EVERY_MS = 1_000;
const SOONEST_LOOK_MS = 5;
const LONGEST_STOP_MS = 1_000;

export interface GatePumpOptions {
  gate: Pick<Gate, 'lanes'>;
  tend: TendGate;
  news: GateNews;
  onError: (error: Error) => void;
}

export function createGatePump({ gate, tend, news, onError }: GatePumpOptions): Startable {
  const stopping = new AbortController();
  const dueAt = new Map<string, number>();
  let heard = new AbortController();
  let plannedAt = Infinity;
  let running: Promise<void> | undefined;

  function hear(lane: string, dueMs: number): void {
    const at = performance.now() + Math.max(dueMs, SOONEST_LOOK_MS);
    if (at < (dueAt.get(lane) ?? Infinity)) dueAt.set(lane, at);
    if (at < plannedAt) heard.abort();
  }

  async function look(lane: string): Promise<void> {
    dueAt.set(lane, performance.now() + LOOK_EVERY_MS);
    try {
      const { dueMs } = await tend(lane);
      if (dueMs !== null) hear(lane, dueMs);
    } catch (error) {
      onError(asError(error));
    }
  }

  async function list(): Promise<void> {
    news.replace(await gate.lanes());
    const lanes = news.lanes();
    for (const lane of dueAt.keys()) if (!lanes.has(lane)) dueAt.delete(lane);
    for (const lane of lanes) if (!dueAt.has(lane)) dueAt.set(lane, 0);
  }

  async function run(): Promise<void> {
    let listAt = 0;
    while (!stopping.signal.aborted) {
      heard = new AbortController();
      plannedAt = Infinity;
      if (performance.now() >= listAt) {
        listAt = performance.now() + LOOK_EVERY_MS;
        await list().catch((error: unknown) => onError(asError(error)));
      }
      const due = [...dueAt].filter(([, at]) => at <= performance.now());
      await Promise.all(due.map(([lane]) => look(lane)));
      plannedAt = Math.min(listAt, ...dueAt.values());
      const untilDueMs = Math.max(0, plannedAt - performance.now());
      await pause(untilDueMs, AbortSignal.any([stopping.signal, heard.signal]));
    }
  }

  return {
    name: 'gates',
    async start(): Promise<void> {
      news.onDue(hear);
      running ??= run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await settledWithin(running ?? Promise.resolve(), LONGEST_STOP_MS);
    },
  };
}
