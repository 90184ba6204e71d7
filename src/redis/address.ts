// A Redis address from the environment: checks its form and hides its secrets for display.
// Must never show user or password.

export interface AddressFault {
  /** Names the address, without its secrets. */
  readonly says: string;
  readonly fix: string;
}

const SCHEME = /^rediss?(\+(cluster|sentinel))?:\/\//;
/** Host, and port where there is one; IPv6 in brackets. */
const NODE = /^(\[[0-9A-Fa-f:.]+\]|[^\s:[\]]+)(:(?<port>\d{1,5}))?$/;
const FORMS =
  'redis://host:6379, rediss:// for TLS, redis+sentinel://host:26379,…/name or redis+cluster://host:6379,…';

/** `url` without user and password. */
export function shownAddress(url: string): string {
  const at = url.lastIndexOf('@');
  if (at < 0) return url;
  const scheme = /^[^/@]*\/\//.exec(url)?.[0] ?? '';
  return `${scheme}…@${url.slice(at + 1)}`;
}

/** null: the form is right, whether or not a Redis answers there. */
export function redisUrlFault(url: string): AddressFault | null {
  const shown = shownAddress(url);
  if (!SCHEME.test(url)) {
    const says = `"${shown}" is not the URL of a Redis`;
    const bare = !url.includes('://') && NODE.test(shown);
    return { says, fix: bare ? `Write REDIS_URL=redis://${shown}.` : `Write it as ${FORMS}.` };
  }
  const [authority = ''] = shown.replace(SCHEME, '').split(/[/?]/);
  const nodes = authority.slice(authority.indexOf('@') + 1).split(',');
  const wrong = nodes.find((node) => !isNode(node));
  if (wrong === undefined) return null;
  return { says: `"${shown}" names no host and port in "${wrong}"`, fix: `Write it as ${FORMS}.` };
}

function isNode(node: string): boolean {
  const match = NODE.exec(node);
  const port = Number(match?.groups?.['port'] ?? 1);
  return match !== null && port >= 1 && port <= 65_535;
}
