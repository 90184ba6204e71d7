/** What submits and what lets in, over the store of a test, as the service makes them; a test names what is otherwise.
 *  It must never hold back a submission by itself: there is room for everything. */
import { type ToolExec, toolExecSchema } from '../../src/contract/directive/work-directive.ts';
import type { Journal } from '../../src/store/request/journal.ts';
import type { Confirm } from '../../src/queue/durability.ts';
import { createEntrance } from '../../src/queue/entrance.ts';
import { createPreparer } from '../../src/directives/prepare.ts';
import { createSubmitter } from '../../src/directives/submit.ts';
import { NO_REPORTS } from '../../src/platform/telemetry/reports.ts';
import { eventually } from './eventually.ts';
import { LANE } from './journal.ts';
import type { Call } from './pipeline.ts';
import type { testStore } from './store.ts';

type Store = ReturnType<typeof testStore>;

export interface EntranceOptions {
  /** Default: nothing has to be confirmed. */
  readonly confirm?: (() => Promise<Confirm | null>) | undefined;
  /** False: in steps. Default: true. */
  readonly ordered?: boolean;
}

export interface SubmitterOptions extends EntranceOptions {
  /** Of the journal that accepts. */
  readonly accept?: Journal['accept'] | undefined;
  /** What leaves the share of its tenant. */
  readonly leave?: (ids: readonly string[]) => Promise<void>;
  /** Default: plenty. */
  readonly requestBytes?: number;
}

/** The pipeline of a test, or its like. */
interface Scripted {
  readonly store: Store;
  readonly lanes: { scriptedBase(lane: string): string | null };
}

/** Submits calls of tools once our scripts have shown that they fit: until then BullMQ's own add jobs. */
export async function submitScripted(
  { store, lanes }: Scripted,
  calls: readonly Call[],
): Promise<ToolExec[]> {
  await eventually(() => lanes.scriptedBase(LANE) !== null).toBe(true);
  const made = calls.map((each) => toolExecSchema.parse(each));
  await submitterOn(store).submit(made);
  return made;
}

function entranceOn({ records, queue }: Store, options: EntranceOptions = {}) {
  const { confirm = async () => null, ordered = true } = options;
  const { index, later } = records;
  const { lanes, gated } = queue;
  return createEntrance({ index, later, lanes, gated, confirm, ordered });
}

export function submitterOn(store: Store, options: SubmitterOptions = {}) {
  const { journal, index } = store.records;
  const { accept, leave = async () => {}, requestBytes = 10_000_000 } = options;
  return createSubmitter({
    journal: accept ? { ...journal, accept } : journal,
    entrance: entranceOn(store, options),
    preparer: createPreparer(store.catalog, () => null),
    capacity: { reserve: async () => leave, requireMemory: async () => {} },
    canceller: store.queue.canceller,
    index,
    argumentsBytes: 1_000_000,
    requestBytes,
    reports: NO_REPORTS,
  });
}
