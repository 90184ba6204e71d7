/** Hides the secrets of a server's configuration in everything that is reported about the server.
 *  It must never change what goes to the server, nor what its tools answer. */
import { isSensitiveKey, REDACTED } from '../contract/redaction.ts';
import type { HttpTransportOptions, McpServerOptions, StdioTransportOptions } from './server-options.ts';

/** A value with every secret in its texts replaced. */
export type Hide = <T>(value: T) => T;

/** Shorter texts are not treated as secrets: they would match everywhere. */
const SHORTEST_SECRET = 6;

/** `changing`: secrets that come and go, such as tokens. */
export function hideSecretsOf(
  { transport }: Pick<McpServerOptions, 'transport'>,
  changing: () => readonly string[] = () => [],
): Hide {
  const found = transport.kind === 'http' ? secretsOfAddress(transport) : secretsOfProcess(transport);
  const fixed = spellingsOf(found);
  return (value) => {
    const now = changing();
    const secrets = now.length === 0 ? fixed : spellingsOf([...found, ...now]);
    return secrets.length === 0 ? value : (hidden(value, secrets) as typeof value);
  };
}

/** The longest first: one secret may hold another. */
function spellingsOf(secrets: readonly string[]): string[] {
  const spellings = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  return [...new Set(spellings)]
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .toSorted((left, right) => right.length - left.length);
}

function hidden(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string')
    return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), value);
  if (Array.isArray(value)) return value.map((item) => hidden(item, secrets));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, hidden(member, secrets)]));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function secretsOfAddress({ url, headers }: HttpTransportOptions): string[] {
  const { username, password, searchParams } = new URL(url);
  return [
    ...[username, password].map(withoutPercents),
    ...searchParams.values(),
    ...Object.values(headers).flatMap(credentialsIn),
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
  const named = Object.entries(env).filter(([name]) => isSensitiveKey(name));
  const given = args.flatMap((arg, position) => {
    const [flag = '', value = args[position + 1] ?? ''] = arg.split(/=(.*)/s, 2);
    return flag.startsWith('-') && isSensitiveKey(flag.replace(/^-{1,2}/, '')) ? [value] : [];
  });
  const addresses = [...Object.values(env), ...args].flatMap(passwordIn);
  return [...named.map(([, value]) => value), ...given, ...addresses];
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
