// The operations of a tenant on the servers that it adds at runtime: list, get, put, remove, test. Never connects to a
// server that the rules do not allow, nor shows a literal secret.
import type { RuntimeServerRules } from '../../config/runtime-servers.ts';
import type { McpServerConfig } from '../../config/servers.ts';
import type { AuditedAction } from '../../contract/access/audit.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { readBody, readInput } from '../../contract/json/read-input.ts';
import { type FieldError, DirectiveRefused, problem, type ProblemCode } from '../../contract/problem.ts';
import { ServiceUnavailable } from '../../contract/problem.ts';
import {
  putServerBodySchema,
  removeServerQuerySchema,
  type RuntimeServer,
  type RuntimeServerClient,
  type ServerTest,
  testServerBodySchema,
} from '../../contract/tool/runtime-server.ts';
import { type Probe, probeServer } from '../../mcp/probe.ts';
import type { McpServerOptions } from '../../mcp/server-options.ts';
import { repeatPolicyOf } from '../../mcp/tools/tool-definition.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { tenantServer } from '../../store/catalog/route.ts';
import type { CatalogEntry, ToolCatalog } from '../../store/catalog/tool-catalog.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import { type Definition, holdsLiterals, readDefinition, shownDefinition } from './definition.ts';
import type { ServerStore, StoredServer } from './server-store.ts';

/** Time of a test, milliseconds. */
const TEST_MS = 20_000;
/** Tests at once in one process. */
const MOST_TESTS = 4;
const MOST_TOOLS = 200;
const MOST_FAULTS = 100;
const LONGEST_DESCRIPTION = 500;

export interface ServerServiceParts {
  readonly store: ServerStore;
  readonly rules: RuntimeServerRules;
  readonly catalog: Pick<ToolCatalog, 'read' | 'introduce' | 'forget'>;
  /** Has the calls of this process know of a change at once. */
  renewKnown(): Promise<unknown>;
  /** Servers of the configuration file. */
  readonly ofFile: ReadonlySet<string>;
  /** Does a change, noted in the audit before it; a refused one is not noted. */
  noted<T>(action: AuditedAction, name: string, work: () => Promise<T>): Promise<T>;
  /** Name of the key of the caller; null: no key is required. */
  caller(): string | null;
  optionsOf(key: string, config: McpServerConfig): McpServerOptions;
}

/** The operations of each tenant. */
export function createServerService(parts: ServerServiceParts): (tenant: string) => RuntimeServerClient {
  const limits = { tests: 0 };
  return (tenant) => clientOf(parts, tenant, limits);
}

function clientOf(parts: ServerServiceParts, tenant: string, limits: { tests: number }): RuntimeServerClient {
  const { store, catalog } = parts;

  async function found(name: string): Promise<StoredServer> {
    const server = await store.read(tenant, name);
    if (server === null) throw refused('not_found', `The tenant has added no server "${name}".`);
    return server;
  }

  async function view(name: string, server: StoredServer): Promise<RuntimeServer> {
    const entries = await catalog.read();
    return viewOf(parts, tenant, { name, server, entries });
  }

  /** Known by name before a worker has followed, so that a call waits for it. */
  async function introduce(name: string): Promise<void> {
    await catalog.introduce(tenantServer(tenant, name));
    await parts.renewKnown();
  }

  async function put(name: string, body: unknown): Promise<RuntimeServer> {
    const { server: definition, version } = readBody(putServerBodySchema, body);
    const before = await store.read(tenant, name);
    if (before?.definition && contentDigest(before.definition) === contentDigest(definition)) {
      // The process that stored it may have died before this.
      await introduce(name);
      return view(name, before);
    }
    requireAllowed(parts, tenant, name, definition);
    const by = parts.caller();
    const isSealed = store.canSeal;
    await parts.noted('put_server', name, async () => {
      const stored = await store.put(tenant, name, { definition, isSealed, by, over: version ?? null });
      if (stored.kind === 'conflict') throw conflict(name, before);
      if (stored.kind === 'full') throw refused('servers_full', 'Remove a server before another is added.');
      if (stored.kind === 'paced') throw paced(stored.afterMs);
    });
    await introduce(name);
    return view(name, await found(name));
  }

  async function remove(name: string, query: unknown): Promise<RuntimeServer> {
    const { version } = readInput(removeServerQuerySchema, query ?? {}, 'invalid_query');
    const server = await found(name);
    if (version !== undefined && version !== server.version) throw conflict(name, server);
    const last = await view(name, server);
    await parts.noted('remove_server', name, async () => {
      const verdict = await store.remove(tenant, name, server.version);
      if (verdict === 'conflict') throw conflict(name, server);
    });
    await catalog.forget(tenantServer(tenant, name));
    await parts.renewKnown();
    return last;
  }

  async function test(name: string, body: unknown): Promise<ServerTest> {
    const { server: given } = readBody(testServerBodySchema, body ?? {});
    const definition = given ?? (await whileAvailable(() => found(name))).definition;
    if (definition === null) throw refused('bad_request', SEALED_ELSEWHERE);
    const config = allowed(parts, tenant, definition);
    if (config.kind === 'stdio')
      throw refused('bad_request', 'A program is not started for a test: only workers start programs.');
    if (limits.tests >= MOST_TESTS)
      throw new ServiceUnavailable('Other servers are being tested', { retryAfterMs: 1_000 });
    limits.tests += 1;
    try {
      const options = parts.optionsOf(name, config);
      const probe = await parts.noted('test_server', name, () => probeServer(options, { limitMs: TEST_MS }));
      return testOf(name, probe);
    } finally {
      limits.tests -= 1;
    }
  }

  return {
    list: () =>
      whileAvailable(async () => {
        const [servers, entries] = await Promise.all([store.all(tenant), catalog.read()]);
        const names = [...servers].toSorted(([left], [right]) => (left < right ? -1 : 1));
        return {
          servers: names.map(([name, server]) => viewOf(parts, tenant, { name, server, entries })),
        };
      }),
    get: (name) => whileAvailable(async () => view(name, await found(name))),
    put: (name, body) => whileAvailable(() => put(name, body)),
    remove: (name, query) => whileAvailable(() => remove(name, query)),
    test,
  };
}

/** Throws the refusal. */
function requireAllowed(
  parts: ServerServiceParts,
  tenant: string,
  name: string,
  definition: Definition,
): void {
  if (parts.ofFile.has(name))
    throw refused('id_conflict', `"${name}" is a server of the configuration file, which keeps its name.`);
  allowed(parts, tenant, definition);
  if (holdsLiterals(definition) && !parts.store.canSeal)
    throw refused(
      'bad_request',
      'A literal in headers, env, args, bearer_token or a query may be a secret, and ADJUTANT_TOKEN_KEY, which seals it, is not set: name a variable as ${NAME}.',
    );
}

/** Throws `DirectiveRefused` (`invalid_body`) with the path of each fault. */
function allowed({ rules }: ServerServiceParts, tenant: string, definition: Definition): McpServerConfig {
  const read = readDefinition(definition, tenant, rules);
  if (read.ok) return read.config;
  throw refusedAt(
    'invalid_body',
    read.errors.map(({ path, message }) => ({ path: path === '' ? 'server' : `server.${path}`, message })),
  );
}

const SEALED_ELSEWHERE = 'It is sealed with a key that this process does not have (ADJUTANT_TOKEN_KEY).';

interface Viewed {
  readonly name: string;
  readonly server: StoredServer;
  readonly entries: readonly CatalogEntry[];
}

function viewOf(
  { rules, ofFile }: ServerServiceParts,
  tenant: string,
  { name, server, entries }: Viewed,
): RuntimeServer {
  const { definition, version, at, by, isSealed } = server;
  const entry = entries.find((each) => each.server === tenantServer(tenant, name));
  const read = definition === null ? null : readDefinition(definition, tenant, rules);
  const shadowed = ofFile.has(name) ? 'The configuration file has a server of this name.' : null;
  const fault = read === null ? SEALED_ELSEWHERE : read.ok ? shadowed : faultText(read.errors);
  return {
    name,
    version,
    server: definition === null ? {} : { ...shownDefinition(definition) },
    sealed: isSealed,
    changed_at: new Date(at).toISOString(),
    changed_by: by,
    fault,
    status: entry?.status ?? null,
    ...(entry?.error === undefined ? {} : { error: entry.error }),
    tools: entry?.tools.length ?? 0,
  };
}

export function faultText(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
}

function testOf(name: string, probe: Probe): ServerTest {
  if (!probe.ok) {
    const { message } = probe.fault;
    return { ok: false, error: message, connect_ms: null, tools: [], more: 0, faults: [] };
  }
  const tools = probe.tools.slice(0, MOST_TOOLS).map((tool) => ({
    name: `${name}.${tool.name}`,
    description: (tool.description ?? tool.title ?? '').slice(0, LONGEST_DESCRIPTION).toWellFormed(),
    effect: repeatPolicyOf(tool.annotations),
  }));
  return {
    ok: true,
    error: null,
    connect_ms: Math.round(probe.connectMs),
    tools,
    more: probe.tools.length - tools.length,
    faults: probe.faults.slice(0, MOST_FAULTS).map((fault) => ({ ...fault })),
  };
}

function refused(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

function conflict(name: string, before: StoredServer | null): DirectiveRefused {
  const detail =
    before === null
      ? `There is no server "${name}" of that version: leave version out to add it.`
      : `The server "${name}" has another version: read it, and change that.`;
  return refused('version_conflict', detail);
}

function paced(afterMs: number): DirectiveRefused {
  const detail = `The tenant has changed its servers too often: again in ${Math.ceil(afterMs / 1_000)} s.`;
  return new DirectiveRefused(problem('rate_limited', { detail, retry_after_ms: afterMs }));
}
