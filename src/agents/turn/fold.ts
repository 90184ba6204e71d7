// One turn as a pure function: folds what was read over the core into one transition to write.
// Must never do I/O, nor fold an event twice.
import { TERMINAL_RUN_STATUSES } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type {
  EmittedSignal,
  EngineCore,
  LogEntry,
  RunDocument,
  RunEvent,
  RunSpec,
  Transition,
} from './transition.ts';

/** The outcome of an outbox entry; `failure`: it can never be done. */
export interface Acknowledgement {
  id: string;
  failure: string | null;
}

export interface FoldInput {
  spec: RunSpec;
  document: RunDocument;
  acknowledgements: readonly Acknowledgement[];
  signals: readonly Signal[];
  /** Milliseconds since the epoch. */
  now: number;
  /** Why a run that is resumed cannot go on after all. Default: it can. */
  refusal?: { reason: string; message: string } | undefined;
}

/** Everything that one turn writes. */
export interface Folded {
  document: RunDocument;
  /** Each with the id of its cause. */
  signals: { signal: EmittedSignal; cause: string }[];
  directives: Transition['directives'];
  log: LogEntry[];
}

const CLOCK: RunEvent = { kind: 'clock' };
/** One clock event fires everything that is due; a core that asks for more than these is broken. */
const MOST_CLOCKS = 10;

/** A resume reopens the run. Then inputs: an answer in the same turn must not end a run that has an unread input. */
const FIRST_READ: readonly string[] = ['ai.request.resumed', 'ai.request.input'];

function inReadingOrder(signals: readonly Signal[]): Signal[] {
  const first = FIRST_READ.flatMap((type) => signals.filter((signal) => signal.type === type));
  return [...first, ...signals.filter(({ type }) => !FIRST_READ.includes(type))];
}

export function isOver(document: RunDocument): boolean {
  return TERMINAL_RUN_STATUSES.has(document.status);
}

export function begun(transition: Transition, cause: string): Folded {
  return add({ document: transition.document, signals: [], directives: [], log: [] }, transition, cause);
}

/** The transition after `before`. */
function add(before: Folded, transition: Transition, cause: string): Folded {
  return {
    document: transition.document,
    signals: [
      ...before.signals,
      ...transition.signals.map((signal) => ({ signal, cause: signal.cause ?? cause })),
    ],
    directives: [...before.directives, ...transition.directives],
    log: [...before.log, ...transition.log],
  };
}

/** Acknowledgements, then the signals, then the clock where something is due. */
export function fold(core: EngineCore, input: FoldInput, before?: Folded): Folded {
  const { spec, now, refusal } = input;
  let folded: Folded = before ?? { document: input.document, signals: [], directives: [], log: [] };
  for (const { id, failure } of input.acknowledgements)
    folded = add(folded, core.acknowledge(spec, folded.document, id, failure, now), spec.run_id);
  for (const signal of inReadingOrder(input.signals))
    folded = add(
      folded,
      core.advance(spec, folded.document, { kind: 'signal', signal, refusal }, now),
      signal.id,
    );
  for (let clocks = 0; isDue(folded.document, now) && clocks < MOST_CLOCKS; clocks += 1)
    folded = add(folded, core.advance(spec, folded.document, CLOCK, now), spec.run_id);
  return folded;
}

export function isDue(document: RunDocument, now: number): boolean {
  return !isOver(document) && document.wake_at !== null && document.wake_at <= now;
}
