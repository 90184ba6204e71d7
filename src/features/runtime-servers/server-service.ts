// The operations of a tenant on the servers that it adds at runtime: list, get, put, remove, test. Never connects to a
// server that the rules do not allow, nor shows a literal secret.
import type { RuntimeServerRules } from '../../config/runtime-servers.ts';
import type { McpServerConfig } from '../../config/servers.ts';
import type { AuditedAction } from '../../contract/access/audit.ts';
import { faultText, refusedAt } from '../../contract/json/field-error.ts';
import { readBody, readInput } from '../../contract/json/read-input.ts';
import { removeDefinitionQuerySchema } from '../../contract/runtime-definition.ts';
import { ServiceUnavailable } from '../../contract/problem.ts';
import {
  putServerBodySchema,
  type RuntimeServer,
  type RuntimeServerClient,
  type ServerTest,
  testServerBodySchema,
} from '../../contract/tool/runtime-server.ts';
import { type Probe, probeServer } from '../../mcp/probe.ts';
import type { McpServerOptions } from '../../mcp/server-options.ts';
import { repeatPolicyOf } from '../../mcp/tools/tool-definition.ts';
import { tenantServer } from '../../store/catalog/route.ts';
import type { CatalogEntry, ToolCatalog } from '../../store/catalog/tool-catalog.ts';
import {
  changeOf,
  createDefinitionOperations,
  type DefinitionParts,
  type Named,
  refused,
  SEALED_ELSEWHERE,
} from '../runtime-definitions/definition-operations.ts';
import type { Definition, DefinitionStore } from '../runtime-definitions/definition-store.ts';
import { holdsLiterals, readDefinition, shownDefinition } from './definition.ts';

/** Time of a test, milliseconds. */
const TEST_MS = 20_000;
/** Tests at once in one process. */
const MOST_TESTS = 4;
const MOST_TOOLS = 200;
const MOST_FAULTS = 100;
const LONGEST_DESCRIPTION = 500;

export interface ServerServiceParts {
  readonly store: DefinitionStore;
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
  const operations = createDefinitionOperations<RuntimeServer>(kindOf(parts), tenant);

  async function test(name: string, body: unknown): Promise<ServerTest> {
    const { server: given } = readBody(testServerBodySchema, body ?? {});
    const definition = given ?? (await operations.found(name)).definition;
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
    list: async () => ({ servers: await operations.list() }),
    get: operations.get,
    async put(name, body) {
      const { server, version } = readBody(putServerBodySchema, body);
      return operations.put(name, server, version);
    },
    async remove(name, query) {
      const { version } = readInput(removeDefinitionQuerySchema, query ?? {}, 'invalid_query');
      return operations.remove(name, version);
    },
    test,
  };
}

function kindOf(parts: ServerServiceParts): DefinitionParts<RuntimeServer> {
  const { store, catalog, noted, caller } = parts;
  return {
    noun: 'server',
    store,
    full: 'servers_full',
    audited: { put: 'put_server', remove: 'remove_server' },
    isSealed: true,
    async requireAllowed(tenant, name, definition) {
      requireAllowed(parts, tenant, name, definition);
    },
    async viewsOf(tenant, found) {
      const entries = await catalog.read();
      return found.map((each) => viewOf(parts, tenant, { ...each, entries }));
    },
    async changed(tenant, name, change) {
      // Known by name before a worker has followed, so that a call waits for it.
      if (change === 'put') await catalog.introduce(tenantServer(tenant, name));
      else await catalog.forget(tenantServer(tenant, name));
      await parts.renewKnown();
    },
    noted,
    caller,
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

interface Viewed extends Named {
  readonly entries: readonly CatalogEntry[];
}

function viewOf(
  { rules, ofFile }: ServerServiceParts,
  tenant: string,
  { name, stored, entries }: Viewed,
): RuntimeServer {
  const { definition, isSealed } = stored;
  const entry = entries.find((each) => each.server === tenantServer(tenant, name));
  const read = definition === null ? null : readDefinition(definition, tenant, rules);
  const shadowed = ofFile.has(name) ? 'The configuration file has a server of this name.' : null;
  const fault = read === null ? SEALED_ELSEWHERE : read.ok ? shadowed : faultText(read.errors);
  return {
    name,
    ...changeOf(stored),
    server: definition === null ? {} : { ...shownDefinition(definition) },
    sealed: isSealed,
    fault,
    status: entry?.status ?? null,
    ...(entry?.error === undefined ? {} : { error: entry.error }),
    tools: entry?.tools.length ?? 0,
  };
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
