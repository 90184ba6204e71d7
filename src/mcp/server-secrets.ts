/** The secrets in the configuration of a server, which `contract/json/secret-text.ts` redacts in what the server says.
 *  It must never take for a secret what identifies the server, or what its tools commonly say. */
import { isSensitiveKey } from '../contract/json/redaction.ts';
import { withoutCredentials, withoutProviderKeys } from '../contract/json/secret-text.ts';
import type { HttpTransportOptions, McpServerOptions, StdioTransportOptions } from './server-options.ts';

/** The values; each may be in the list several times, and may be short. */
export function secretsOfServer({ transport }: Pick<McpServerOptions, 'transport'>): string[] {
  if (transport.kind === 'stdio') return secretsOfProcess(transport);
  const { kind, headers } = transport;
  return secretsOfAddress({
    url: kind === 'http' ? transport.url : (transport.baseUrl ?? 'http://api'),
    headers,
  });
}

/** Headers whose values are words of HTTP. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-type',
  'mcp-protocol-version',
  'user-agent',
]);

function secretsOfAddress({ url, headers }: Pick<HttpTransportOptions, 'url' | 'headers'>): string[] {
  const { username, password, searchParams } = new URL(url);
  return [
    ...[username, password].map(withoutPercents),
    ...searchParams.values(),
    ...Object.entries(headers)
      .filter(([name]) => !PLAIN_HEADERS.has(name.toLowerCase()))
      .flatMap(([, value]) => credentialsIn(value)),
  ];
}

/** The header's value, the part behind its scheme, and the password of `Basic`. */
function credentialsIn(header: string): string[] {
  const [scheme = '', credentials = ''] = header.split(' ', 2);
  if (scheme !== 'Basic') return [header, credentials];
  const pair = Buffer.from(credentials, 'base64').toString();
  return [header, credentials, pair, pair.slice(pair.indexOf(':') + 1)];
}

function secretsOfProcess({ args, env }: StdioTransportOptions): string[] {
  const named = Object.entries(env).filter(([name, value]) => isSecretVariable(name, value));
  const given = args.flatMap((arg, position) => {
    const [flag = '', value = args[position + 1] ?? ''] = arg.split(/=(.*)/s, 2);
    return flag.startsWith('-') && isSensitiveKey(flag.replace(/^-{1,2}/, '')) ? [value] : [];
  });
  const addresses = [...Object.values(env), ...args].flatMap(passwordIn);
  return [...named.map(([, value]) => value), ...given, ...addresses];
}

/** Names of variables that hold a secret by custom, beside those of `isSensitiveKey`. */
const SECRET_VARIABLE = /(?:^|_)(?:pat|pwd|pass|passwd|passphrase|credentials?|jwt|key)$/i;

/** A value counts as a secret by its name, or when it has the form of a key or a token. */
function isSecretVariable(name: string, value: string): boolean {
  if (isSensitiveKey(name) || SECRET_VARIABLE.test(name)) return true;
  return !value.includes('://') && withoutProviderKeys(withoutCredentials(value)) !== value;
}

/** The password of an address such as `postgres://user:password@host/`. */
function passwordIn(text: string): string[] {
  if (!text.includes('://') || !URL.canParse(text)) return [];
  const { password } = new URL(text);
  return [password, withoutPercents(password)];
}

/** A part of a URL, decoded; unchanged when it was not encoded. */
export function withoutPercents(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
