// The person or key behind a host's token: written into the token's account, and read again at each use.
// Must never let a token pass whose key is revoked or replaced, whose person is no longer believed, or whose time is over.
import * as z from 'zod';
import { digestOf } from '../../http/access/key-text.ts';
import type { Persons, PersonSource } from '../../http/access/persons.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { SessionKeys } from '../../http/access/sessions.ts';

/** The text that tokens carry as their account. */
export type Account = string;

export interface Holders {
  /** null: the key is not valid. */
  ofKey(text: string): Promise<Account | null>;
  /** The account of a token of `access.jwt`, at most until the token ends; null: it is none, or not valid. */
  ofToken(text: string): Promise<Account | null>;
  /** A person whom the issuer of `access.oidc` has authenticated. */
  ofPerson(principal: Principal): Account;
  /** The principal as it is now; null: the account counts no longer. */
  principalOf(account: Account): Promise<Principal | null>;
}

export interface HolderParts {
  readonly keys: SessionKeys;
  readonly persons: Persons;
  readonly lastsMs: { readonly key: number; readonly person: number };
  readonly now?: () => number;
}

const LONGEST_CLAIMS = 3_000;

const accountSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('key'), id: z.string().max(64), seal: z.string().length(64), untilAt: z.int() }),
  z.object({
    kind: z.literal('person'),
    claims: z.string().max(LONGEST_CLAIMS),
    seal: z.string().length(64),
    untilAt: z.int(),
  }),
]);

type HeldAccount = z.infer<typeof accountSchema>;

export function createHolders({ keys, persons, lastsMs, now = Date.now }: HolderParts): Holders {
  const written = (account: HeldAccount): Account =>
    Buffer.from(JSON.stringify(account)).toString('base64url');
  const ofPerson = (principal: Principal, source: PersonSource, latestAt = Infinity): Account => {
    const { claims } = persons.write(principal, source);
    const seal = persons.read(claims)?.digest ?? '';
    const untilAt = Math.floor(Math.min(now() + lastsMs.person, latestAt));
    return written({ kind: 'person', claims, seal, untilAt });
  };

  return {
    async ofKey(text) {
      const owner = await keys.admitKey(text);
      const found = owner === null ? null : await keys.find(owner.id);
      if (owner === null || found === null || found === 'open') return null;
      const seal = keySeal(found.digest);
      return written({ kind: 'key', id: owner.id, seal, untilAt: now() + lastsMs.key });
    },
    async ofToken(text) {
      const token = await keys.admitToken(text);
      // The verification tolerates clocks that differ: it admits a token for a while after its end.
      if (token === null || token.expiresAt <= now()) return null;
      return ofPerson(token.principal, 'jwt', token.expiresAt);
    },
    ofPerson: (principal) => ofPerson(principal, 'oidc'),
    async principalOf(text) {
      const account = readAccount(text);
      if (account === null || account.untilAt <= now()) return null;
      if (account.kind === 'person') {
        const person = persons.read(account.claims);
        return person !== null && person.digest === account.seal ? person.principal : null;
      }
      const key = await keys.find(account.id);
      if (key === null || key === 'open' || keySeal(key.digest) !== account.seal) return null;
      key.used();
      return key.admission.kind === 'admitted' ? key.admission.principal : null;
    },
  };
}

/** When the login ends, milliseconds since the epoch; 0: it is no account. */
export function accountEnd(text: Account | undefined): number {
  return readAccount(text ?? '')?.untilAt ?? 0;
}

/** A key that is replaced by another of the same id, as that of the environment may be, ends its logins. */
function keySeal(digest: string): string {
  return digestOf(`host:${digest}`);
}

function readAccount(text: Account): HeldAccount | null {
  try {
    const read = accountSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}
