// Access tokens of hosts at `/mcp`: who a token speaks for now, with which scopes, and whether it may be used there.
// Must never let a token do more than its holder may, nor count anywhere but at its resource.
import { OPERATING_SERVER } from '../../contract/identifiers.ts';
import type { Admission } from '../../http/access/gate.ts';
import type { HostTokens } from '../../http/access-check.ts';
import type { Principal } from '../../http/access/principal.ts';
import { isAccessToken, resourceOf } from './authorization-server.ts';
import type { Holders } from './holder.ts';
import type { HostRecords, StoredPayload } from './records.ts';

const WRONG: Admission = { kind: 'refused', reason: 'wrong' };
const BEARER = /^Bearer +(?<token>[\x21-\x7E]{1,200}) *$/i;

export function createHostTokens(
  { records, holders }: { readonly records: HostRecords; readonly holders: Holders },
  publicUrl: string,
): HostTokens {
  const tokens = records.adapter('AccessToken');
  const grants = records.adapter('Grant');

  /** The principal of a token's payload, as the grant and its holder are now. */
  async function holderOf({ grantId = '', accountId, scope }: StoredPayload): Promise<Admission> {
    const [grant, holder] = await Promise.all([grants.find(grantId), holders.principalOf(String(accountId))]);
    if (grant === undefined || holder === null) return WRONG;
    return { kind: 'admitted', principal: attenuated(holder, String(scope)) };
  }

  async function admit(token: string, url: string): ReturnType<HostTokens['admit']> {
    const payload = await tokens.find(token);
    const { aud, exp } = payload ?? {};
    // Redis ends it by its own clock; the library's end is what the host was told.
    if (payload === undefined || Number(exp) * 1_000 <= Date.now()) return WRONG;
    const at = resourceOf(publicUrl, publicUrl + url);
    if (at === null || (at !== aud && (aud !== `${publicUrl}/mcp` || isOperating(at)))) return WRONG;
    const admission = await holderOf(payload);
    // An answer that lasts goes on past the end of its token, as long as the login does.
    return { ...admission, stays: async () => holderOf(payload) };
  }

  return {
    tokenIn(authorization) {
      const token = BEARER.exec(authorization)?.groups?.['token'];
      return token !== undefined && isAccessToken(token) ? token : null;
    },
    admit,
  };
}

function attenuated(principal: Principal, scope: string): Principal {
  const granted = scope.split(' ').filter((each) => principal.scopes.has(each));
  return { ...principal, scopes: new Set(granted) };
}

/** A person who lets a host call tools does not let it operate the service: that is a login of its own. */
function isOperating(resource: string): boolean {
  const name = resource.slice(resource.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(name) === OPERATING_SERVER;
  } catch {
    return true;
  }
}
