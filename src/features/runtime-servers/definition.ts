// The definition of a server that a tenant adds: checked against the rules of the operator, with its variables filled in.
// Must never put the value of a variable, or a literal secret, into a message or a view.
import { fillIn } from '../../config/environment-values.ts';
import type { RuntimeServerRules } from '../../config/runtime-servers.ts';
import { type McpServerConfig, transportKeysOf, transportOf } from '../../config/servers.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { REDACTED } from '../../contract/json/redaction.ts';
import type { FieldError } from '../../contract/problem.ts';
import { isPublicAddress, literalAddress } from '../../platform/bounds/outgoing-request.ts';
import type { Definition } from '../runtime-definitions/definition-store.ts';

const MOST_BYTES = 16_384;
/** Values of a definition, and how deep they lie: it is visited once for each. */
const MOST_VALUES = 1_000;
const DEEPEST = 6;

/** Keys of `mcpServers` that loosen nothing which an operator decides: trust, budgets of models, users of programs. */
const ALLOWED: ReadonlySet<string> = new Set([
  'type',
  'url',
  'openapi',
  'operations',
  'base_url',
  'headers',
  'bearer_token',
  'command',
  'args',
  'env',
  'start_timeout_ms',
  'lane',
  'expose',
  'effects',
  'approve',
  'approve_timeout_ms',
  'questions',
  'question_timeout_ms',
  'redact_results',
]);
const IN_LANE: ReadonlySet<string> = new Set(['timeout_ms']);

/** Where values may be secrets, and where a variable may be named. */
const SECRET_PATH = /^(?:headers\.|env\.|args\.|bearer_token$)/;
/** An argument that only names an option. */
const OPTION = /^--[a-z][a-z-]*$/;
const VARIABLE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const HEADER_VALUE = /^[\t\x20-\x7E\x80-\xFF]{0,8192}$/;

export type ReadDefinition =
  | { readonly ok: true; readonly config: McpServerConfig }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

interface Leaf {
  readonly path: string;
  readonly text: string;
}

/** Checks a definition of a tenant, and fills in its variables. */
export function readDefinition(
  definition: Definition,
  tenant: string,
  rules: RuntimeServerRules,
): ReadDefinition {
  const shape = shapeFaults(definition, rules);
  if (shape.length > 0) return { ok: false, errors: shape };
  const hosts = hostsOf(definition);
  const texts = leavesOf(definition);
  const errors = [
    ...hostFaults(hosts, rules),
    ...texts.flatMap((leaf) => leafFaults(leaf, tenant, { rules, hosts: hosts.map(({ host }) => host) })),
  ];
  if (errors.length > 0) return { ok: false, errors };
  const { value, unset, unknown } = fillIn(definition, rules.values);
  if (unset.length + unknown.length > 0) return { ok: false, errors: [...unset, ...unknown] };
  const { kind, schema } = transportOf(value);
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { ok: false, errors: fieldErrors(parsed.error) };
  const config = { ...parsed.data, kind } as McpServerConfig;
  const faults = headerFaults(config);
  if (faults.length > 0) return { ok: false, errors: faults };
  const lane = { ...config.lane, concurrency: rules.concurrency };
  const reach = kind === 'openapi' ? { private_addresses: rules.privateAddresses } : {};
  return { ok: true, config: { ...config, ...reach, lane } as McpServerConfig };
}

function shapeFaults(definition: Definition, { kinds }: RuntimeServerRules): FieldError[] {
  if (Buffer.byteLength(JSON.stringify(definition)) > MOST_BYTES)
    return [{ path: '', message: `must be at most ${MOST_BYTES} bytes` }];
  const ways = transportKeysOf(definition);
  if (ways.length !== 1) return [{ path: '', message: 'needs one of url, openapi and command' }];
  const { kind } = transportOf(definition);
  if (!kinds.has(kind))
    return [{ path: ways[0] ?? '', message: `is not allowed: runtime_servers.kinds has no "${kind}"` }];
  const { lane } = definition;
  const inLane = isObject(lane) ? Object.keys(lane).filter((key) => !IN_LANE.has(key)) : [];
  const unknown = [
    ...Object.keys(definition).filter((key) => !ALLOWED.has(key)),
    ...inLane.map((key) => `lane.${key}`),
  ];
  if (unknown.length > 0)
    return unknown.map((path) => ({ path, message: 'cannot be set at runtime: the operator sets it' }));
  const isDeep = !isWithin(definition, DEEPEST, { left: MOST_VALUES });
  return isDeep ? [{ path: '', message: `must have at most ${MOST_VALUES} values, ${DEEPEST} deep` }] : [];
}

function isWithin(value: unknown, depth: number, budget: { left: number }): boolean {
  budget.left -= 1;
  if (budget.left < 0 || depth < 0) return false;
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((each) => isWithin(each, depth - 1, budget));
}

function leavesOf(value: unknown, path = ''): Leaf[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path}.${key}`));
}

function leafFaults(
  { path, text }: Leaf,
  tenant: string,
  { rules, hosts }: { rules: RuntimeServerRules; hosts: readonly string[] },
): FieldError[] {
  if ([REDACTED, encodeURIComponent(REDACTED)].some((hiding) => text.includes(hiding)))
    return [{ path, message: 'is redacted: give the value again' }];
  const names = [...text.matchAll(VARIABLE)].map(([, name = '']) => name);
  if (text.includes('${') && !SECRET_PATH.test(path))
    return [{ path, message: 'names a variable: only headers, bearer_token, env and args may' }];
  if (text.replaceAll(VARIABLE, '').includes('${'))
    return [{ path, message: 'has a placeholder that is not ${NAME}' }];
  const refused = names.filter((name) => !rules.mayName(name, tenant, hosts));
  return refused.map((name) => ({
    path,
    message: `names the variable ${name}, which the operator does not allow here`,
  }));
}

interface NamedHost {
  readonly path: string;
  readonly host: string;
  /** null: none. */
  readonly fault: string | null;
}

/** Hosts that a definition names; a program has none. */
function hostsOf(definition: Definition): NamedHost[] {
  return ['url', 'openapi', 'base_url'].flatMap((path) => {
    const text = definition[path];
    if (text === undefined) return [];
    const url = typeof text === 'string' && /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    if (url === null) return [{ path, host: '', fault: 'must be a URL with http or https' }];
    const hasUser = url.username !== '' || url.password !== '';
    return [{ path, host: url.hostname, fault: hasUser ? 'must not name a user: use a header' : null }];
  });
}

function hostFaults(hosts: readonly NamedHost[], rules: RuntimeServerRules): FieldError[] {
  return hosts.flatMap(({ path, host, fault }) => {
    const literal = literalAddress(host);
    const isNear = literal !== null && !rules.privateAddresses && !isPublicAddress(literal);
    const near = isNear
      ? 'has a private address, and the operator has not set `runtime_servers.private_addresses`'
      : null;
    const other = rules.isHostAllowed(host)
      ? null
      : 'has a host that is not in `runtime_servers.hosts` of the operator';
    const message = fault ?? near ?? other;
    return message === null ? [] : [{ path, message }];
  });
}

/** With the values of variables, which the messages never have. */
function headerFaults(config: McpServerConfig): FieldError[] {
  if (config.kind !== 'http' && config.kind !== 'openapi') return [];
  const names = Object.entries(config.headers).flatMap(([name, value]) => [
    ...(HEADER_NAME.test(name) ? [] : [{ path: 'headers', message: 'has a name that no header may have' }]),
    ...(HEADER_VALUE.test(value)
      ? []
      : [{ path: 'headers', message: `has a value that no header may have: ${name.slice(0, 64)}` }]),
  ]);
  const { bearer_token: token = '' } = config;
  return HEADER_VALUE.test(token)
    ? names
    : [...names, { path: 'bearer_token', message: 'has a character that no header may have' }];
}

/** Whether it holds a literal that may be a secret, so that it is stored sealed only. */
export function holdsLiterals(definition: Definition): boolean {
  return leavesOf(definition).some(isLiteral);
}

function isLiteral({ path, text }: Leaf): boolean {
  if (path === 'url' || path === 'openapi' || path === 'base_url')
    return URL.parse(text)?.search !== '' && URL.canParse(text);
  if (path.startsWith('args.') && OPTION.test(text)) return false;
  return SECRET_PATH.test(path) && text.replaceAll(VARIABLE, '').replace(/^(?:Bearer|Basic)\s*/i, '') !== '';
}

/** The definition as it may be shown. */
export function shownDefinition(definition: Definition): Definition {
  return shown(definition, '') as Definition;
}

function shown(value: unknown, path: string): unknown {
  if (typeof value === 'string') return isLiteral({ path, text: value }) ? hidden(path, value) : value;
  if (Array.isArray(value)) return value.map((each, at) => shown(each, `${path}.${at}`));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, shown(each, path === '' ? key : `${path}.${key}`)]),
  );
}

function hidden(path: string, text: string): string {
  if (SECRET_PATH.test(path)) return REDACTED;
  const url = new URL(text);
  // A name without a value may be the secret itself.
  const pairs = [...url.searchParams].map(([name, value]): [string, string] => [
    value === '' ? REDACTED : name,
    REDACTED,
  ]);
  url.search = new URLSearchParams(pairs).toString();
  return url.href;
}
