// The stored form of an accepted directive: its content, its lane, and its trace. Never changed after acceptance.
import { hash } from 'node:crypto';
import type { Spender } from '../../contract/model/budget.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { Tickets } from '../../contract/directive/flow.ts';
import type { DirectiveRef } from '../refs.ts';

export interface Envelope extends Tickets {
  directive: Directive;
  /** null for directives that ended when they were accepted. */
  lane: string | null;
  /** `provider:model` names that may serve it, first choice first; absent for directives without a model. */
  models?: readonly string[];
  traceparent: string;
  /** On whose budget models are called; absent: it was submitted without a key. */
  spender?: Spender;
  /** On whose behalf servers with personal logins are called; null: no one's. Absent: the spender's. Only a redrive has it. */
  actsFor?: Actor | null;
  /** Agent whose run submitted it; absent: a caller did. Only the service writes it. */
  agent?: string;
  /** Id of the lost call about which a person asks with it. Only a reconcile has it, and only the service writes it. */
  inquiryOf?: string;
  /** Its end may cause a notification: an entry of the sweep index has the mark too. */
  noticed?: true;
  /** The id under which its fields were encrypted; absent: its own. Only a redrive has another, and only the service writes it. */
  sealedAs?: string;
  /** A caller has encrypted its context, and no run: a `state` in it is not the runtime's. */
  callersContext?: true;
  /** Where the whole of it lies, of which this is a part. */
  offloaded?: { readonly sha256: string; readonly bytes: number };
}

/** The caller whose logins at servers a call uses. */
export type Actor = Pick<Spender, 'key' | 'issuer'>;

/** null: it was accepted without a caller. */
export function actorOf({ actsFor, spender }: Pick<Envelope, 'actsFor' | 'spender'>): Actor | null {
  if (actsFor !== undefined) return actsFor;
  return spender === undefined ? null : partOf(spender);
}

/** Whether both are one caller: a person has one subject at its issuer, with a token and with a login. */
export function isSameCaller(one: Actor, other: Actor): boolean {
  return one.issuer === other.issuer && subjectOf(one) === subjectOf(other);
}

/** Without the mark of tokens or logins. */
function subjectOf({ key, issuer }: Actor): string {
  return issuer === undefined ? key : key.slice(key.indexOf(':') + 1);
}

/** The same for one caller, as `isSameCaller` says. */
export function callerDigest(caller: Actor): string {
  return hash('sha256', JSON.stringify([caller.issuer ?? null, subjectOf(caller)]), 'hex').slice(0, 40);
}

function partOf({ key, issuer }: Actor): Actor {
  return issuer === undefined ? { key } : { key, issuer };
}

/** Name of the place of a caller's logins: two callers never share one, whatever their ids contain. */
export function accountOf(tenant: string, { key, issuer }: Actor): string {
  return hash('sha256', JSON.stringify([tenant, issuer ?? null, key]), 'hex').slice(0, 40);
}

/** Stable over all attempts, and short enough for any header. */
export function idempotencyKey({ requestId, id }: DirectiveRef): string {
  return hash('sha256', `${requestId}/${id}`, 'hex').slice(0, 32);
}

/** Without the ids of its directive: the key and the job that hold the text name them. */
export function encodeEnvelope(envelope: Envelope): string {
  const { request_id: _requestId, id: _id, ...directive } = envelope.directive;
  return JSON.stringify({ ...envelope, directive });
}

const START = /^\{"directive":\{/;

/** The text with the ids of its directive. */
export function withIds(text: string, requestId: string, id: string): string {
  const ids = `"request_id":${JSON.stringify(requestId)},"id":${JSON.stringify(id)},`;
  return text.replace(START, (start) => `${start}${ids}`);
}

/** Reads an envelope this service wrote; it was validated when it was accepted. */
export function decodeEnvelope(json: string): Envelope {
  return JSON.parse(json) as Envelope;
}
