// Sessions of browsers: a key is changed into a cookie once, and the cookie then stands for the key.
// Must never let a session do more, or longer, than its key.
import type { Audit } from './audit.ts';
import { digestOf } from './key-text.ts';
import type { Admission } from './gate.ts';
import type { Principal } from './principal.ts';
import type { SessionRecords } from './session-records.ts';
import { newSession, readSession, sessionMember, type SessionText, sessionText } from './session-text.ts';

const LASTS_MS = 12 * 60 * 60 * 1_000;

export interface OpenedSession {
  /** The cookie. */
  readonly text: string;
  readonly lastsMs: number;
}

/** `admitted` holds until `untilAt`. */
export type SessionAdmission = Admission & { readonly untilAt?: number };

export interface Sessions {
  /** `key`: its text. null: it is not known, or no API key. */
  open(key: string): Promise<OpenedSession | null>;
  /** Rejects when Redis does not answer. */
  admit(text: string): Promise<SessionAdmission>;
  close(text: string): Promise<void>;
}

/** What the gate knows of keys. */
export interface SessionKeys {
  /** As for a header; null: it is no API key. */
  admitKey(text: string): Promise<Principal | null>;
  /** Of a key that counts now, by its id; null: none. Resolves to `open` where nobody is asked for one. */
  find(id: string): Promise<{ readonly digest: string; readonly admission: Admission } | 'open' | null>;
}

const WRONG: Admission = { kind: 'refused', reason: 'wrong' };

export function createSessions(
  keys: SessionKeys,
  records: SessionRecords,
  audit: Pick<Audit, 'note'>,
  now: () => number = Date.now,
): Sessions {
  /** null: its key counts no more. */
  async function known(text: string): Promise<Known | 'open' | null> {
    const session = readSession(text);
    const key = session === null ? null : await keys.find(session.keyId);
    if (key === 'open') return key;
    if (session === null || key === null) return null;
    return { session, admission: key.admission, member: sessionMember(session, key.digest) };
  }

  return {
    async open(key) {
      const owner = await keys.admitKey(key);
      if (owner === null) return null;
      const session = newSession(owner.id);
      await records.add(owner.id, sessionMember(session, digestOf(key)), now() + LASTS_MS);
      await audit.note(owner, 'sign_in', { target: owner.id });
      return { text: sessionText(session), lastsMs: LASTS_MS };
    },
    async admit(text) {
      const found = await known(text);
      if (found === 'open') return { kind: 'open' };
      if (found === null) return WRONG;
      const untilAt = await records.untilAt(found.session.keyId, found.member);
      return untilAt === null ? WRONG : { ...found.admission, untilAt };
    },
    async close(text) {
      const found = await known(text);
      if (found === null || found === 'open') return;
      const { session, member, admission } = found;
      const ended = await records.remove(session.keyId, member);
      // Its key alone is no session: anybody can name a key.
      if (ended && admission.kind === 'admitted')
        await audit.note(admission.principal, 'sign_out', { target: session.keyId });
    },
  };
}

interface Known {
  readonly session: SessionText;
  readonly admission: Admission;
  readonly member: string;
}
