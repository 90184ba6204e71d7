// A wire is the form in which a provider writes its answers; each knows how to make a tolerable answer readable for the provider's client.
// Must never add to the text of an answer, nor change an argument of a tool call.
import { isObject } from '../../contract/json/json-object.ts';

export type Members = Record<string, unknown>;

/** The repair of one answer, which sees its events in order. */
export interface AnswerRepair {
  /** Repairs the event in place. Returns the events to pass on: usually the event itself, none if it says nothing. */
  next(event: Members, mending: Mending): Members[];
  /** Events that are still to be passed on when the provider has closed the stream. */
  rest(): Members[];
  /** The same at an end marker, after which an answer without a finish reason is complete. */
  complete(): Members[];
  /** `finished`: the finish reason has come, a report of the tokens may follow. `ended`: nothing follows. */
  state(): 'open' | 'finished' | 'ended';
}

export interface Wire {
  repair(): AnswerRepair;
  /** Whether it has the form of an answer, or of an event of one; anything else may be an error. */
  isAnswer(value: Members): boolean;
  /** Whether it is a whole answer, not an event. */
  isWhole(value: Members): boolean;
  /** Repairs a whole answer in place. */
  mendWhole(answer: Members, mending: Mending): void;
  /** The events of a stream that say the same as the whole answer. */
  eventsOf(answer: Members): Members[];
  /** The event with which the client reports an error. */
  errorEvent(error: Members & { message: string }, status: number): Members;
}

/** Notes whether a value was changed: an untouched one is passed on byte for byte. */
export interface Mending {
  isChanged: boolean;
}

export function put(mending: Mending, target: Members, key: string, value: unknown): void {
  target[key] = value;
  mending.isChanged = true;
}

export function drop(mending: Mending, target: Members, ...keys: string[]): void {
  for (const key of keys) {
    if (!Object.hasOwn(target, key)) continue;
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete
    delete target[key];
    mending.isChanged = true;
  }
}

/** Drops members of another type; null and an absent member are left. */
export function keepOnly(
  mending: Mending,
  target: Members,
  type: 'string' | 'number' | 'boolean',
  ...keys: string[]
): void {
  for (const key of keys) {
    const value = target[key];
    if (value !== undefined && value !== null && typeof value !== type) drop(mending, target, key);
  }
}

/** The objects in a list; the others are removed from it. */
export function objectsIn(mending: Mending, target: Members, key: string): Members[] {
  const list = target[key];
  if (!Array.isArray(list)) return [];
  const objects = list.filter(isObject);
  if (objects.length < list.length) put(mending, target, key, objects);
  return objects;
}

/** Counts that are no numbers are dropped, and a report that is no object. */
export function mendCounts(mending: Mending, target: Members, key: string): void {
  const counts = target[key];
  if (counts === undefined || counts === null) return;
  if (!isObject(counts)) return drop(mending, target, key);
  for (const name of Object.keys(counts)) {
    if (/_tokens$|TokenCount$/.test(name)) keepOnly(mending, counts, 'number', name);
    else if (name.endsWith('_tokens_details')) mendCounts(mending, counts, name);
  }
}
