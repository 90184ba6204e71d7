// The logins of callers, as a worker asks for them before a call.
// Must never name another account than that of the directive's caller, which the service has written at its acceptance.
import { tenantOf } from '../../contract/access/tenant.ts';
import { nameOfLogin } from '../../mcp/oauth/login.ts';
import { forgetLogin } from '../../mcp/oauth/login-store.ts';
import { serverOf } from '../../store/catalog/route.ts';
import { accountOf, actorOf, type Envelope } from '../../store/request/envelope.ts';
import type { CallLogins } from '../../worker/attempt/claimed.ts';
import type { PersonalLogins } from './logins.ts';
import { loginUrl } from './pages.ts';
import type { WaitingCalls } from './waiting.ts';

export interface CallLoginsOptions {
  readonly logins: PersonalLogins;
  readonly waiting: Pick<WaitingCalls, 'add'>;
  readonly publicUrl: string;
  readonly waitMs: number;
}

const NO_CALLER =
  'the directive has no caller; submit it over HTTP or /mcp with an API key, a token or a login';

export function createCallLogins({ logins, waiting, publicUrl, waitMs }: CallLoginsOptions): CallLogins {
  const tenantIn = ({ directive }: Envelope): string => tenantOf(directive.request_id);

  function ownAccount(envelope: Envelope): string | null {
    const actor = actorOf(envelope);
    return actor === null ? null : accountOf(tenantIn(envelope), actor);
  }

  const serverIn = (lane: string): string | null => {
    const server = serverOf(lane);
    return server !== null && logins.servers.has(server) ? server : null;
  };

  return {
    accountOf: ownAccount,
    async stateOf({ envelope, lane, claim: { requestId, id } }) {
      const server = serverIn(lane);
      if (server === null) return { kind: 'none' };
      const actor = actorOf(envelope);
      if (actor === null) return { kind: 'refused', reason: NO_CALLER };
      const reason = await logins.callerFault(tenantIn(envelope), actor);
      // @guard caller-counts
      if (reason !== null) return { kind: 'refused', reason };
      const account = accountOf(tenantIn(envelope), actor);
      const stored = await logins.read({ account, server });
      if (stored !== null) return { kind: 'stored', login: nameOfLogin(stored.login) };
      // @guard login-noted
      await waiting.add({ account, server }, { requestId, id });
      const message = `The call needs a login of its caller at "${server}". Open the link and sign in as ${actor.key}: the login is stored for that caller alone.`;
      const question = { mode: 'url', message, url: loginUrl(publicUrl, server) } as const;
      return { kind: 'missing', question, patienceMs: waitMs };
    },
    async forget({ envelope, lane }, login) {
      const server = serverIn(lane);
      const account = ownAccount(envelope);
      if (server === null || account === null) return;
      await forgetLogin(logins.storeOf(account), server, login);
    },
  };
}
