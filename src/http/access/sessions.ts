// Sessions of browsers: a key, a token or a login is changed into a cookie once, and the cookie then represents it. A
// session never permits more, or longer, than that.
import type { Audit } from './audit.ts';
import { digestOf } from './key-text.ts';
import type { Admission } from './gate.ts';
import type { VerifiedToken } from './jwt.ts';
import type { Persons, PersonSource } from './persons.ts';
import type { Principal } from './principal.ts';
import type { SessionRecords } from './session-records.ts';
import { newSession, readSession, sessionMember, type SessionText, sessionText } from './session-text.ts';

const LASTS_MS = 12 * 60 * 60 * 1_000;

export interface OpenedSession {
  /** The cookie. */
  readonly text: string;
  readonly lastsMs: number;
}

/** `admitted` holds until `untilAt`. `source`: of a person. */
export type SessionAdmission = Admission & { readonly untilAt?: number; readonly source?: PersonSource };

export interface Sessions {
  /** `text`: of a key or token. null: it does not count. */
  open(text: string): Promise<OpenedSession | null>;
  /** Opens the session of a person whom an issuer has authenticated. `untilAt`: the latest end. */
  openPerson(principal: Principal, source: PersonSource, untilAt: number): Promise<OpenedSession | null>;
  /** Rejects when Redis does not answer. */
  admit(text: string): Promise<SessionAdmission>;
  close(text: string): Promise<void>;
  /** Whether any key exists that a person could sign in with. */
  hasKeys(): Promise<boolean>;
}

/** The lookup of keys by the gate. */
export interface SessionKeys {
  /** As for a header; null: it is no API key. */
  admitKey(text: string): Promise<Principal | null>;
  /** null: it has not the form of a token, or tokens do not count. */
  admitToken(text: string): Promise<VerifiedToken | null> | null;
  /** The valid key with this id; null: none. Resolves to `open` where no key is required. */
  find(id: string): Promise<FoundKey | 'open' | null>;
  hasKeys(): Promise<boolean>;
}

export interface FoundKey {
  readonly digest: string;
  readonly admission: Admission;
  /** Notes that the key was used. To be called once it is proved that the caller represents it: an id alone is public. */
  readonly used: () => void;
}

const WRONG: Admission = { kind: 'refused', reason: 'wrong' };

export interface SessionParts {
  readonly keys: SessionKeys;
  readonly persons: Persons;
  readonly records: SessionRecords;
  readonly audit: Pick<Audit, 'note'>;
  readonly now?: () => number;
}

export function createSessions({ keys, persons, records, audit, now = Date.now }: SessionParts): Sessions {
  /** The session; null: its key or its claims are no longer valid. */
  async function known(text: string): Promise<Known | 'open' | null> {
    const session = readSession(text);
    const claims = session?.claims ?? null;
    const person = claims === null ? null : persons.read(claims);
    if (session !== null && person !== null) {
      const { principal, digest, source } = person;
      const admission: SessionAdmission = { kind: 'admitted', principal, source };
      return { session, admission, member: sessionMember(session, digest) };
    }
    const key = session === null ? null : await keys.find(session.keyId);
    if (key === 'open') return key;
    if (session === null || session.claims !== null || key === null) return null;
    return { session, ...key, member: sessionMember(session, key.digest) };
  }

  async function add(session: SessionText, digest: string, owner: Principal, latestAt = Infinity) {
    const openedAt = now();
    const untilAt = Math.min(latestAt, openedAt + LASTS_MS);
    await records.add(session.keyId, sessionMember(session, digest), untilAt);
    await audit.note(owner, 'sign_in', { target: owner.id });
    return { text: sessionText(session), lastsMs: untilAt - openedAt };
  }

  async function openPerson(principal: Principal, source: PersonSource, latestAt: number) {
    const { ownerId, claims } = persons.write(principal, source);
    const digest = persons.read(claims)?.digest;
    // A token that is taken a little after its end, as clocks differ, is too old for a session.
    if (digest === undefined || latestAt <= now()) return null;
    return add(newSession(ownerId, claims), digest, principal, latestAt);
  }

  return {
    async open(text) {
      const token = await keys.admitToken(text);
      if (token !== null) return openPerson(token.principal, 'jwt', token.expiresAt);
      const owner = await keys.admitKey(text);
      return owner === null ? null : add(newSession(owner.id), digestOf(text), owner);
    },
    openPerson,
    async admit(text) {
      const found = await known(text);
      if (found === 'open') return { kind: 'open' };
      if (found === null) return WRONG;
      const untilAt = await records.untilAt(found.session.keyId, found.member);
      if (untilAt === null) return WRONG;
      found.used?.();
      return { ...found.admission, untilAt };
    },
    async close(text) {
      const found = await known(text);
      if (found === null || found === 'open') return;
      const { session, member, admission } = found;
      const ended = await records.remove(session.keyId, member);
      // What it stands for alone is no session: anybody can name a key.
      if (ended && admission.kind === 'admitted')
        await audit.note(admission.principal, 'sign_out', { target: admission.principal.id });
    },
    hasKeys: async () => keys.hasKeys(),
  };
}

interface Known {
  readonly session: SessionText;
  readonly admission: SessionAdmission;
  readonly member: string;
  /** Absent: the session represents a person. */
  readonly used?: FoundKey['used'];
}
