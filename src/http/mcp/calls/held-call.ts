/** The sealed state that a client carries while it holds no connection: its call, for its key or person only.
 *  It must never be believed without its seal, nor from another caller: a client could name the call of another. */
import { hash } from 'node:crypto';
import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server';
import { ServiceUnavailable } from '../../../contract/problem.ts';
import type { AskedOnLeg } from './asked-leg.ts';
import type { Scope } from '../offered-tools.ts';
import type { Place } from './tool-answer.ts';

export interface HeldCall extends Place {
  /** The whole name of its tool. */
  readonly tool: string;
  /** The name by which its client called it. */
  readonly name: string;
  /** null: it is an agent. */
  readonly server: string | null;
  /** The questions to its client when it left; absent: none. */
  readonly asked?: AskedOnLeg;
  /** A digest of the caller it was sealed for; absent: no caller is asked for a key. */
  readonly caller?: string;
}

/** Each rejects with `ServiceUnavailable` while the key cannot be read. */
export interface Seals {
  /** After this, `seal` needs nothing that may be away. */
  ready(): Promise<void>;
  seal(call: HeldCall): Promise<string>;
  /** null: it was not sealed here, or too long ago, or for another caller, or is outside the scope. */
  open(sealed: string, context: ServerContext): Promise<HeldCall | null>;
}

/** A closed laptop may come back; results are kept for a day by default. */
const VALID_SECONDS = 24 * 60 * 60;
const AGAIN_MS = 1_000;

export interface SealOptions {
  /** The same for every process that a client may come back to, at least 32 bytes. Asked until it is known. */
  readonly sealingKey: () => Promise<string>;
  /** The id of the key or person that calls now, for which a call is sealed; null: no caller is asked for a key. */
  readonly callerOf: () => string | null;
  readonly scope: Scope;
}

export function createSeals({ sealingKey, callerOf, scope }: SealOptions): Seals {
  const codecOf = (secret: string) =>
    createRequestStateCodec<HeldCall>({ key: secret, ttlSeconds: VALID_SECONDS });
  let known: ReturnType<typeof codecOf> | null = null;
  const codec = async () => (known ??= codecOf(await sealingKey().catch(unreadable)));
  const caller = (): string | undefined => digestOf(callerOf());
  const isForCaller = (call: HeldCall): boolean => call.caller === caller();
  return {
    ready: async () => void (await codec()),
    seal: async (call) => {
      const { caller: _before, ...held } = call;
      const own = caller();
      return (await codec()).mint(own === undefined ? held : { ...held, caller: own });
    },
    open: async (sealed, context) => {
      const { verify } = await codec();
      const call = await verify(sealed, context).catch(() => null);
      return call !== null && isForCaller(call) && isWithin(scope, call) ? call : null;
    },
  };
}

const DIGEST_CHARACTERS = 22;

/** The client can read what it carries: the id of a person stays out of it. */
function digestOf(caller: string | null): string | undefined {
  return caller === null ? undefined : hash('sha256', caller, 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** All endpoints have one key: what was sealed at that of one server is no call of another. */
function isWithin(scope: Scope, { server }: HeldCall): boolean {
  return scope.kind === 'all' || server === scope.server;
}

function unreadable(cause: unknown): never {
  throw new ServiceUnavailable('The key of held calls cannot be read.', { retryAfterMs: AGAIN_MS, cause });
}
