// The operations of a caller on its own logins: list and remove. An administrator removes those of others of the tenant, too.
// Must never take the account from what another caller sends.
import type { PersonalLogin, PersonalLoginClient } from '../../contract/access/personal-login.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { Audit } from '../../http/access/audit.ts';
import { missingScope } from '../../http/access/caller.ts';
import type { Principal } from '../../http/access/principal.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { accountOf, type Actor } from '../../store/request/envelope.ts';
import type { PersonalLogins } from './logins.ts';
import { loginUrl } from './pages.ts';

export interface OwnLoginsOptions {
  readonly logins: PersonalLogins;
  readonly publicUrl: string;
  readonly audit: Pick<Audit, 'note'>;
  /** null: no key is required. */
  readonly caller: () => Principal | null;
}

/** The principal as the caller of directives. */
export function actorOfPrincipal({ id: key, issuer }: Principal): Actor {
  return issuer === undefined ? { key } : { key, issuer };
}

/** Name of the place of a principal's logins. */
export function accountOfPrincipal(principal: Principal): string {
  return accountOf(principal.tenant, actorOfPrincipal(principal));
}

/** `options` null: no server has logins of callers. */
export function createOwnLogins(options: OwnLoginsOptions | null): PersonalLoginClient {
  if (options === null)
    return { logins: async () => ({ logins: [] }), forgetLogin: async (server) => refuse(server) };
  const { logins, publicUrl, audit, caller } = options;

  async function shown(server: string, principal: Principal | null): Promise<PersonalLogin> {
    const account = principal === null ? null : accountOfPrincipal(principal);
    const stored = account === null ? null : await logins.read({ account, server });
    const { loggedInAt, account: name = null, scope = null } = stored?.login ?? {};
    return {
      server,
      url: loginUrl(publicUrl, server),
      logged_in_at: loggedInAt === undefined ? null : new Date(loggedInAt).toISOString(),
      ...(name === null ? {} : { account: name }),
      ...(scope === null ? {} : { scope }),
    };
  }

  return {
    async logins() {
      const principal = caller();
      const names = [...logins.servers.keys()];
      return {
        logins: await whileAvailable(async () =>
          Promise.all(names.map(async (name) => shown(name, principal))),
        ),
      };
    },
    async forgetLogin(server, { caller: named } = {}) {
      const principal = caller();
      if (!logins.servers.has(server)) return refuse(server);
      if (principal === null) return { server, forgotten: false };
      const refusal = named === undefined ? undefined : missingScope(principal, 'admin');
      // @guard only-administrators
      if (refusal !== undefined) throw refusal;
      const actor = named === undefined ? actorOfPrincipal(principal) : logins.callerWith(named);
      if (actor === null) return { server, forgotten: false };
      const store = logins.storeOf(accountOf(principal.tenant, actor));
      const forgotten = await whileAvailable(async () => store.remove(server));
      const target = named === undefined ? server : `${server} of ${named}`;
      if (forgotten) await audit.note(principal, 'sign_out', { target });
      return { server, forgotten };
    },
  };
}

function refuse(server: string): never {
  const detail = `No MCP server "${server}" is called with the logins of callers.`;
  throw new DirectiveRefused(problem('not_found', { detail }));
}
