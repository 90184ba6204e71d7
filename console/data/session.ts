/** Who is signed in, and signing in and out.
 *  It must never keep the key: the browser holds a cookie that no script can read. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { SessionView } from '../../src/contract/access/session.ts';
import { call, holdSessionToken } from './api.ts';
import { forgetDrafts } from './draft.ts';
import { whyUnchangeable } from './tenant.ts';

const KEY = ['session'];
/** Rights and expiry change rarely; a revoked key shows itself by a refusal. */
const EVERY_MS = 60_000;

/** All tabs share the cookie: each reads the session anew when another one changes it. */
const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('adjutant.session');

/** A session that ended while this page was open; null: none, or it was ended here. */
export interface EndedSession {
  readonly at: string;
  /** Its time was over. */
  readonly isExpired: boolean;
}

/** When the session that was seen last ends; null: none. */
let lastsUntil: string | null = null;
let ended: EndedSession | null = null;

function note({ state, expires_at: until }: SessionView): void {
  if (state === 'signed_in') {
    lastsUntil = until ?? null;
    ended = null;
  } else if (state === 'signed_out' && lastsUntil !== null) {
    const isExpired = Date.parse(lastsUntil) <= Date.now();
    ended = { at: isExpired ? lastsUntil : new Date().toISOString(), isExpired };
    lastsUntil = null;
  }
}

export function endedSession(): EndedSession | null {
  return ended;
}

export function useSession() {
  const queries = useQueryClient();
  const query = useQuery<SessionView>({
    queryKey: KEY,
    queryFn: async () => {
      const session = await call<SessionView>('GET', '/v1/session');
      hold(session);
      note(session);
      return session;
    },
    refetchInterval: EVERY_MS,
    retry: true,
    retryDelay: 1_000,
  });
  const hold = (session: SessionView): void =>
    holdSessionToken(session.csrf_token ?? null, async () => queries.invalidateQueries({ queryKey: KEY }));
  useEffect(() => {
    const heard = (): void => void queries.invalidateQueries({ queryKey: KEY });
    tabs?.addEventListener('message', heard);
    return () => tabs?.removeEventListener('message', heard);
  }, [queries]);
  useEffect(() => {
    if (query.data?.state === 'signed_out') queries.removeQueries({ queryKey: ['api'] });
  }, [queries, query.data?.state]);
  return query;
}

export function useSigning() {
  const queries = useQueryClient();
  return {
    async signIn(key: string): Promise<void> {
      await call('POST', '/v1/session', { body: { key } });
      tabs?.postMessage(null);
      await queries.invalidateQueries({ queryKey: KEY });
    },
    async signOut(): Promise<void> {
      const goOn = queries.getQueryData<SessionView>(KEY)?.sign_out_path;
      await call('DELETE', '/v1/session');
      forgetDrafts();
      lastsUntil = null;
      tabs?.postMessage(null);
      if (goOn !== undefined) return location.assign(goOn);
      await queries.invalidateQueries({ queryKey: KEY });
    },
  };
}

/** Whether the session has a scope. Where no key is needed, and before the session is known, it has all. */
export function useHasScope(scope: string): boolean {
  const { data } = useQuery<SessionView>({ queryKey: KEY, enabled: false });
  return data === undefined || data.state === 'open' || data.scopes?.includes(scope) === true;
}

/** Reason why an action of this scope cannot be used now; null: it can. */
export function useWhyNot(scope: string): string | null {
  const has = useHasScope(scope);
  // The frame draws the page anew when another tenant is shown.
  return whyUnchangeable() ?? (has ? null : `This needs the scope ${scope}.`);
}
