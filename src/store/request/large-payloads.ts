// Payloads that lie in a store of objects instead of Redis, which holds their size and their hash.
// Must never return other bytes than those that were put.
import { randomUUID } from 'node:crypto';
import { offloadedMember } from '../../contract/encrypted/offloaded.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../contract/problem.ts';
import { decodeEnvelope, type Envelope, withIds } from './envelope.ts';

export interface PayloadRef {
  /** Hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** It is not in the store any more, or not as it was put. */
export class PayloadLost extends Error {
  constructor({ sha256, bytes }: PayloadRef) {
    super(`the payload ${sha256.slice(0, 12)} of ${bytes} bytes is not in the store of large payloads`);
    this.name = 'PayloadLost';
  }
}

/**
 * Objects by request, so that they can be removed with it. `put` may be repeated. Both reject with `ServiceUnavailable`
 * while the store is unreachable.
 */
export interface PayloadObjects {
  /** Smaller ones stay in Redis. */
  readonly aboveBytes: number;
  put(requestId: string, bytes: Buffer): Promise<PayloadRef>;
  /** Rejects with `PayloadLost`. */
  get(requestId: string, ref: PayloadRef): Promise<Buffer>;
  /** Drops an object that was put and has no reference. */
  drop(requestId: string, ref: PayloadRef): Promise<void>;
}

/** The objects of a process without a store: it writes none, and cannot read those of others. */
export const NO_OBJECTS: PayloadObjects = {
  aboveBytes: Infinity,
  put: async () => unknownStore(),
  get: async () => unknownStore(),
  drop: async () => unknownStore(),
};

/** The objects of a client that was not given the store: waiting changes nothing, so that it is a refusal. */
export const OTHERS_OBJECTS: PayloadObjects = {
  ...NO_OBJECTS,
  get: async () => {
    const detail =
      'it lies in the store of large payloads, which this client does not know: give it the option `payloads`';
    throw new DirectiveRefused(problem('not_found', { detail }));
  },
};

function unknownStore(): never {
  throw new ServiceUnavailable(
    'The payload lies in a store of large payloads that this process does not know',
    {
      retryAfterMs: null,
    },
  );
}

/** No JSON begins like this, whatever a tool has answered. */
const MARK = '@offloaded ';

/**
 * The text that Redis holds of a payload: itself, or its reference. A store that is unreachable blocks nothing: Redis
 * can hold it.
 */
export async function keptText(objects: PayloadObjects, requestId: string, json: string): Promise<string> {
  if (json.length * 3 <= objects.aboveBytes) return json;
  const bytes = Buffer.from(json);
  if (bytes.length <= objects.aboveBytes) return json;
  const ref = await objects.put(requestId, bytes).catch(orNothing);
  return ref === null ? json : MARK + JSON.stringify(ref);
}

function orNothing(error: unknown): null {
  if (error instanceof ServiceUnavailable) return null;
  throw error;
}

/** The payload of such a text; null: it is lost. */
export async function wholeText(
  objects: PayloadObjects,
  requestId: string,
  text: string | null,
): Promise<string | null> {
  if (text === null || !text.startsWith(MARK)) return text;
  const ref = JSON.parse(text.slice(MARK.length)) as PayloadRef;
  const bytes = await objects.get(requestId, ref).catch((error: unknown) => {
    if (error instanceof PayloadLost) return null;
    throw error;
  });
  return bytes && bytes.toString();
}

/** Shorter members stay, so that lists and ends need nothing else. */
const SHORT_CHARACTERS = 1_024;
/** Others say what the directive is and how it is executed, and stay in any case. */
const MEMBERS = ['arguments', 'context', 'texts', 'system_prompt', 'tools', 'output_schema'];

/** The text of an envelope as Redis holds it: of a large one what is short, and where the whole lies. */
export async function keptEnvelope(
  objects: PayloadObjects,
  requestId: string,
  text: string,
): Promise<string> {
  if (text.length * 3 <= objects.aboveBytes) return text;
  if (Buffer.byteLength(text) <= objects.aboveBytes) return text;
  const envelope = decodeEnvelope(text);
  const members = Object.entries(envelope.directive as object).flatMap(([name, value]: [string, unknown]) => {
    const size = MEMBERS.includes(name) ? (JSON.stringify(value) ?? '').length : 0;
    return size <= SHORT_CHARACTERS ? [] : [[name, offloadedMember(size)] as const];
  });
  // What users' own types hold in other members stays.
  if (members.length === 0) return text;
  // Each submission has an object of its own: one that is refused is removed without a look at others.
  const copy = `${text.slice(0, -1)},"copy":"${randomUUID()}"}`;
  const offloaded = await objects.put(requestId, Buffer.from(copy));
  const directive = { ...envelope.directive, ...(Object.fromEntries(members) as object) };
  return JSON.stringify({ ...envelope, directive, offloaded });
}

/** As it was accepted. */
export async function wholeEnvelope(objects: PayloadObjects, envelope: Envelope): Promise<Envelope> {
  const { offloaded, directive } = envelope;
  if (offloaded === undefined) return envelope;
  const bytes = await objects.get(directive.request_id, offloaded);
  return decodeEnvelope(withIds(bytes.toString(), directive.request_id, directive.id));
}
