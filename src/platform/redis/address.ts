/** Reads the address of Redis from the environment: checks its form, names its nodes, and hides its secrets for display. */

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

/** `url` without user and password, those of sentinels included. */
export function shownAddress(url: string): string {
  const shown = url.replaceAll(/([?&][^=&]*pass[^=&]*=)[^&]*/gi, '$1…');
  const at = shown.lastIndexOf('@');
  if (at < 0) return shown;
  const scheme = /^[^/@]*\/\//.exec(shown)?.[0] ?? '';
  return `${scheme}…@${shown.slice(at + 1)}`;
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

export function isClusterUrl(url: string): boolean {
  return /^rediss?\+cluster:/.test(url);
}

function isNode(node: string): boolean {
  const match = NODE.exec(node);
  const port = Number(match?.groups?.['port'] ?? 1);
  return match !== null && port >= 1 && port <= 65_535;
}

export interface RedisNode {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/** An address that names several nodes. */
export interface NodesAddress {
  readonly isTls: boolean;
  readonly nodes: readonly RedisNode[];
  /** For Redis itself. */
  readonly credentials: Credentials;
  /** The part after the nodes: a sentinel's name of the master; '' where it is missing. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Reads an address without a fault. `defaultPort` counts for nodes that name none. */
export function readNodesAddress(url: string, defaultPort: number): NodesAddress {
  const [rest = '', query = ''] = url.replace(SCHEME, '').split('?');
  const [authority = '', path = ''] = rest.split('/');
  const at = authority.lastIndexOf('@');
  return {
    isTls: url.startsWith('rediss'),
    nodes: authority
      .slice(at + 1)
      .split(',')
      .map((node) => readNode(node, defaultPort)),
    credentials: at < 0 ? {} : readCredentials(authority.slice(0, at)),
    path,
    query: new URLSearchParams(query),
  };
}

function readNode(node: string, defaultPort: number): RedisNode {
  const match = NODE.exec(node);
  const port = match?.groups?.['port'];
  return {
    host: (match?.[1] ?? node).replace(/^\[|\]$/g, ''),
    port: port === undefined ? defaultPort : Number(port),
  };
}

function readCredentials(text: string): Credentials {
  const [user = '', ...rest] = text.split(':');
  const password = rest.join(':');
  return {
    ...(user === '' ? {} : { username: decodeURIComponent(user) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}
