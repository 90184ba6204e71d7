/** Random requests with keys that do not count: on every route, in every wrong form; and what is wrong with their answers.
 *  It must never send a request that the API may allow to change something. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Chance } from '../chaos/random.ts';
import type { FuzzedOperation } from './operations.ts';

export interface FuzzedKeys {
  readonly adminKey: string;
  readonly valid: string;
  readonly revoked: string;
  readonly expired: string;
  /** Valid, but only for reading. */
  readonly reader: string;
  /** Valid, but of another tenant than that of the request `fuzzed`. */
  readonly foreign: string;
}

export interface FuzzOptions {
  readonly url: string;
  readonly keys: FuzzedKeys;
  readonly operations: readonly FuzzedOperation[];
  readonly chance: Chance;
}

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_';
const ANY = `${CHARACTERS} .,;:!"'%&/()=?*+~#<>|\\{}[]@^\u00E4\u00FF`;
const SECRET_LENGTH = 43;
const BODIES = [
  '',
  '{}',
  '[]',
  'null',
  '{"type":"tool_exec","tool_name":"a.b","request_id":"fuzzed"}',
  '{"__proto__":{}}',
  '{',
];

function textOf(chance: Chance, characters: string, length: number): string {
  return Array.from({ length }, () => characters[chance.between(0, characters.length - 1)]).join('');
}

/** One character of the text is another one. */
function altered(chance: Chance, key: string): string {
  const at = chance.between(0, key.length - 1);
  const other = textOf(chance, CHARACTERS, 1);
  return other === key[at] ? `${key}x` : key.slice(0, at) + other + key.slice(at + 1);
}

/** Headers of callers that get in nowhere. */
function wrongHeader(chance: Chance, keys: FuzzedKeys): string | null {
  const { valid, revoked, expired, adminKey } = keys;
  const [mark = '', id = ''] = valid.split('_', 2);
  const key = chance.pick([valid, revoked, expired, adminKey]);
  const forms: (() => string | null)[] = [
    () => null,
    () => `Bearer ${revoked}`,
    () => `Bearer ${expired}`,
    () => `Bearer ${altered(chance, key)}`,
    () => `Bearer ${key.slice(0, chance.between(0, key.length - 1))}`,
    () => `Bearer ${key}${textOf(chance, ANY, chance.between(1, 20)).trim() || 'x'}x`,
    () => `Bearer ${mark}_${id}_${textOf(chance, CHARACTERS, SECRET_LENGTH)}`,
    () =>
      `Bearer ${mark}_${textOf(chance, '0123456789abcdef', 12)}_${textOf(chance, CHARACTERS, SECRET_LENGTH)}`,
    () => `${chance.pick(['Basic', 'Digest', 'Key', 'Bearer:', 'Bear er', ''])} ${key}`,
    () => `Basic ${Buffer.from(`x:${key}`).toString('base64')}`,
    () => `Bearer ${textOf(chance, CHARACTERS, chance.between(1, 9_000))}`,
    () =>
      `Bearer ${textOf(chance, CHARACTERS, 40)}.${textOf(chance, CHARACTERS, 90)}.${textOf(chance, CHARACTERS, 86)}`,
    () => textOf(chance, ANY, chance.between(0, 200)),
    () =>
      `Bearer ${chance.pick(['__proto__', 'constructor', '@version', 'adj___', 'adj_@version_x', '*', 'null'])}`,
    () => `Bearer ${key}, Bearer ${revoked}`,
    () => `Bearer ${key.toUpperCase()}`,
  ];
  return chance.pick(forms)();
}

/** What belongs to the request that there is. */
const OF_REQUEST = /^\/v1\/requests\/fuzzed/;
/** Stands in it, and nowhere else. */
export const CONTENT = 'content-of-the-other-tenant';

interface Attempt {
  readonly operation: FuzzedOperation;
  readonly header: string | null;
  readonly path: string;
  readonly body: string;
  readonly expected: readonly number[];
}

/** 404 and 405 come before the key; 400, 414 and 431 are of requests that are no HTTP. */
const REFUSED = [401];
const BROKEN = [400, 404, 405, 414, 431];

function attemptOf({ chance, keys, operations }: FuzzOptions): Attempt {
  const operation = chance.pick(operations.filter(({ scope }) => scope !== null));
  const body = operation.method === 'POST' ? chance.pick(BODIES) : '';
  const plain = { operation, path: operation.path, body };
  const ofOthers = operation.scope !== 'read' && chance.percent(10);
  if (ofOthers) return { ...plain, header: `Bearer ${keys.reader}`, expected: [403] };
  const ofOtherTenant = OF_REQUEST.test(operation.path) && operation.method === 'GET' && chance.percent(30);
  if (ofOtherTenant) return { ...plain, header: `Bearer ${keys.foreign}`, expected: [404] };
  const header = wrongHeader(chance, keys);
  if (chance.percent(90)) return { ...plain, header, expected: REFUSED };
  const odd = chance.pick(['?api_key=', '?key=', '/', '%2F', '%zz', '/../', '?a[__proto__]=', '#']);
  const path = `${operation.path}${odd}${encodeURIComponent(textOf(chance, ANY, 8))}`;
  return { ...plain, path, header, expected: [...REFUSED, ...BROKEN] };
}

export function keyFuzz(options: FuzzOptions) {
  const { url, keys } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const failures: string[] = [];
  const statuses = new Map<number, number>();
  const { hostname, port } = new URL(url);
  const secrets = Object.values(keys).map((key) => key.slice(-SECRET_LENGTH));
  const ids = [keys.valid, keys.revoked, keys.expired].map((key) => key.split('_')[1] ?? '');
  const showsSecret = (shown: string): boolean => secrets.some((secret) => shown.includes(secret));

  async function answerOf({ operation: { method }, header, path, body }: Attempt) {
    const headers = {
      ...(header === null ? {} : { authorization: header }),
      ...(body === ''
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const sent = request({ hostname, port, agent, method, path, headers }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return {
      status: response.statusCode ?? 0,
      shown: `${JSON.stringify(response.headers)}${await text(response)}`,
    };
  }

  function judge(attempt: Attempt, { status, shown }: Awaited<ReturnType<typeof answerOf>>): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const what = `${attempt.operation.method} ${attempt.path} with ${attempt.header?.slice(0, 60) ?? 'no key'}`;
    if (!attempt.expected.includes(status)) failures.push(`${status} for ${what}: ${shown.slice(0, 200)}`);
    if (shown.includes(CONTENT)) failures.push(`shows another tenant's content: ${what}`);
    if (showsSecret(shown) || ids.some((id) => shown.includes(id))) failures.push(`shows a key: ${what}`);
  }

  return {
    failures,
    showsSecret,
    statuses: () => Object.fromEntries(statuses),
    sent: () => [...statuses.values()].reduce((sum, count) => sum + count, 0),
    async send(): Promise<void> {
      const attempt = attemptOf(options);
      try {
        judge(attempt, await answerOf(attempt));
      } catch (error) {
        failures.push(`no answer to ${attempt.operation.method} ${attempt.path}: ${String(error)}`);
      }
    },
  };
}
