/** Which directive a call becomes: the same key of a client is the same directive of a tool.
 *  It must never let a key of one tool mean a call of another. */
import { hash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { RUN_REQUEST_PREFIX } from '../../../contract/run/foreign-run.ts';
import type { Place } from './tool-answer.ts';

/** In `_meta` of a call. */
export const KEY_META = 'adjutant/idempotencyKey';

const MAX_KEY_CHARACTERS = 255;
const DIGEST_CHARACTERS = 32;
const KEYED = 'mcp-';
/** A request holds one call, so its directive needs no name of its own. */
const ID = 'call';

export type CallKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'invalid'; readonly reason: string };

type Meta = Readonly<Record<string, unknown>>;

/** `others`: members of `_meta` in which hosts name a call, which count where the key of this service is absent. */
export function callKeyOf(meta: Meta = {}, others: readonly string[] = []): CallKey {
  const key = meta[KEY_META];
  if (key === undefined) return foreignKey(meta, others);
  if (isKey(key)) return { kind: 'key', key };
  return {
    kind: 'invalid',
    reason: `_meta["${KEY_META}"] must be a text of 1 to ${MAX_KEY_CHARACTERS} characters`,
  };
}

/** A value of another form was not meant as a key. */
function foreignKey(meta: Meta, names: readonly string[]): CallKey {
  const name = names.find((each) => Object.hasOwn(meta, each) && isKey(meta[each]));
  // Two hosts may use the same value in members of different names.
  return name === undefined ? { kind: 'none' } : { kind: 'key', key: JSON.stringify([name, meta[name]]) };
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_KEY_CHARACTERS;
}

export interface Identity {
  /** The whole name of the tool. */
  readonly tool: string;
  /** null: a new call. */
  readonly key: string | null;
  readonly isAgent: boolean;
}

export function placeOf({ tool, key, isAgent }: Identity): Place {
  const id = isAgent ? '' : ID;
  if (key === null) return { requestId: uuidv7(), id };
  const digest = hash('sha256', JSON.stringify([tool, key]), 'hex').slice(0, DIGEST_CHARACTERS);
  return { requestId: `${KEYED}${digest}`, id };
}

/** Whether it is a call of a run that another program leads: it goes on when that program dies, which finds it again. */
export function isOfRun({ requestId }: Place): boolean {
  return requestId.startsWith(RUN_REQUEST_PREFIX);
}

/** Whether a client that repeats the call with its key finds it again. */
export function isKeyed({ requestId }: Place): boolean {
  return requestId.startsWith(KEYED);
}
