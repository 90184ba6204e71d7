// Tokens for browsers: a key makes one that reads a single request for a short time. Never stored: each is signed, with the digest
// of its key, so that it ends with the key.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type AccessClient, KEY_MARK } from '../../contract/access/access.ts';
import { viewTokenBodySchema } from '../../contract/access/view-token.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { identifierSchema } from '../../contract/identifiers.ts';
import { ROUTES } from '../../contract/operations/routes.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { currentCaller } from './caller.ts';
import type { Admission } from './gate.ts';
import type { FoundKey, SessionKeys } from './sessions.ts';

/** The place of a request: its route, and the id in its path as it was sent. */
export interface ViewPlace {
  readonly route: string | undefined;
  readonly requestId: unknown;
}

export interface ViewTokens extends Pick<AccessClient, 'viewToken'> {
  /** The token in an Authorization header; null: it has not the form of one. */
  tokenIn(authorization: string): string | null;
  /** `stays`: the admission of an answer that has begun. */
  admit(token: string, place: ViewPlace): Promise<Admission & { readonly stays?: () => Promise<Admission> }>;
}

// Begins as a key does, so that the rules which hide keys hide what is secret of it.
const BEARER = new RegExp(`^Bearer +(?<token>${KEY_MARK}[0-9a-f]{12}_view_[A-Za-z0-9._:-]{1,300}) *$`, 'i');
const TOKEN = new RegExp(
  `^${KEY_MARK}(?<keyId>[0-9a-f]{12})_view_(?<mac>[A-Za-z0-9_-]{43})\\.(?<until>\\d{1,15})\\.(?<requestId>[A-Za-z0-9._:-]{1,128})$`,
);
const KEY_ID = /^[0-9a-f]{12}$/;

const refused = (detail: string): Admission => ({ kind: 'refused', reason: 'wrong', detail });
const EXPIRED = refused('The view token has expired: make another one with the key.');
const WRONG = refused(
  'The view token does not fit: it reads one request as it is, with its signals, its directives and their payloads, while its key is valid.',
);

/** Routes of one request that a token reads. */
const VIEWED: ReadonlySet<string> = new Set(
  [ROUTES.request, ROUTES.signals, ROUTES.directive, ROUTES.payload].map(({ path }) => path),
);

export interface ViewTokenOptions {
  readonly keys: Pick<SessionKeys, 'find'>;
  /** Secret of the installation. */
  readonly secret: () => Promise<string>;
  readonly now?: () => number;
}

export function createViewTokens({ keys, secret, now = Date.now }: ViewTokenOptions): ViewTokens {
  let known: string | null = null;

  async function macOf(signed: string, digest: string): Promise<string> {
    known ??= await secret();
    return createHmac('sha256', `view:${known}:${digest}`).update(signed).digest('base64url');
  }

  /** Reader that the key is at present; null: none. */
  async function readerOf(keyId: string): Promise<FoundKey | null> {
    const key = await keys.find(keyId);
    if (key === null || key === 'open' || key.admission.kind !== 'admitted') return null;
    const { principal } = key.admission;
    const scopes = new Set(principal.scopes.has('read') ? ['read'] : []);
    return { ...key, admission: { kind: 'admitted', principal: { ...principal, scopes } } };
  }

  return {
    async viewToken(requestId, body = {}) {
      const { lasts_ms: lastsMs } = readBody(viewTokenBodySchema, body);
      const caller = currentCaller();
      if (caller === null) throw forbidden('No key is required here: a page reads without a token.');
      const reader = KEY_ID.test(caller.id) ? await readerOf(caller.id) : null;
      if (reader === null) throw forbidden('Only an API key makes tokens for browsers.');
      const untilAt = now() + lastsMs;
      const place = `${untilAt}.${identifierSchema.parse(requestId)}`;
      const mac = await macOf(`${caller.id}.${place}`, reader.digest);
      return {
        token: `${KEY_MARK}${caller.id}_view_${mac}.${place}`,
        expires_at: new Date(untilAt).toISOString(),
      };
    },
    tokenIn: (authorization) => BEARER.exec(authorization)?.groups?.['token'] ?? null,
    async admit(token, { route = '', requestId }) {
      const { keyId = '', until = '', requestId: own = '', mac = '' } = TOKEN.exec(token)?.groups ?? {};
      const reader = await readerOf(keyId);
      const isSigned = reader !== null && isSame(mac, await macOf(`${keyId}.${until}.${own}`, reader.digest));
      if (!isSigned) return WRONG;
      if (Number(until) <= now()) return EXPIRED;
      if (!VIEWED.has(route) || own !== requestId) return WRONG;
      reader.used();
      // A stream goes on past the end of its token, as long as the key may read.
      return { ...reader.admission, stays: async () => (await readerOf(keyId))?.admission ?? WRONG };
    },
  };
}

function isSame(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function forbidden(detail: string): DirectiveRefused {
  return new DirectiveRefused(problem('forbidden', { detail }));
}
