/** All MCP servers of this process behind one call: takes names, returns outcomes.
 *  It must never let a failing server affect calls to others. */
import { settledWithin } from '../platform/lifecycle.ts';
import { errorEnvelope } from '../contract/error-envelope.ts';
import { createKnownSecrets, type KnownSecrets } from '../contract/json/secret-text.ts';
import { type SchemaChecks, createSchemaChecks } from '../platform/json-schema/schema-checks.ts';
import { type CallTools, callTool } from './call.ts';
import type { CallDeadline } from './call-deadline.ts';
import { closeNames } from '../platform/bounds/close-names.ts';
import { createSemaphore } from '../platform/bounds/semaphore.ts';
import { createConnection } from './connection.ts';
import { createPersonalConnections } from './personal-connections.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import type { LoginSummary } from './oauth/login.ts';
import { type LoginStore, storeOfLogin } from './oauth/login-store.ts';
import { type TokenSource, tokensFor } from './oauth/token-source.ts';
import type { Withdrawal } from './tasks/task.ts';
import { withdrawnTask } from './tasks/task-question.ts';
import { secretsOfServer } from './server-secrets.ts';
import { createServerEvents, type Subscribe } from './server-events.ts';
import type { McpServerOptions } from './server-options.ts';
import { type ReadOutcome, type ReadRequest, readServer } from './server-read.ts';
import type { ServerStatus } from './server-status.ts';
import type { ToolCallOutcome, ToolCallRequest } from './tools/tool-call.ts';
import type { ToolDefinition } from './tools/tool-definition.ts';

export type { ServerOutage, ServerStatus } from './server-status.ts';

export interface McpPoolOptions {
  readonly servers: readonly McpServerOptions[];
  readonly logger: Logger;
  /** From 0 up to 1; spreads reconnections. Default Math.random. */
  readonly random?: () => number;
  /** Checks arguments and results. Default: checks of its own. */
  readonly schemas?: SchemaChecks;
  /** Where logins are kept. Default: nowhere, and a server that needs one cannot be called. */
  readonly logins?: LoginStore | null;
  /** The place of an account's logins, for servers with personal ones. Default: nowhere, and they cannot be called. */
  readonly loginsOf?: ((account: string) => LoginStore) | undefined;
  /** Those of the process, to which those of the servers are added. Default: a list of their own. */
  readonly secrets?: KnownSecrets;
  /** Gets the output of the program of a server, with secrets redacted. Default: the log alone has it. */
  readonly onOutput?: ((server: string, line: string, suppressed: number) => void) | undefined;
}

export interface McpPool {
  /** Starts to connect to every server and returns at once; calls do not need it. */
  start(): void;
  /** Aborts calls in flight, closes every connection and ends every child process. Safe twice and without start. */
  stop(): Promise<void>;
  subscribe: Subscribe;
  /** Never throws. */
  call(request: ToolCallRequest): Promise<ToolCallOutcome>;
  /** Asks the server of a call that has ended to cancel its task, as `keepTask` got it. Never throws. */
  withdraw(server: string, task: string, endpoint: string, account?: string): Promise<Withdrawal>;
  /** Resources, prompts and completions. Never throws. */
  read(request: ReadRequest): Promise<ReadOutcome>;
  /** null: never listed yet, or no such server. Kept while the server is away. */
  tools(server: string): readonly ToolDefinition[] | null;
  describe(server: string, tool: string): ToolDefinition | null;
  /** null: no such server. */
  status(server: string): ServerStatus | null;
  servers(): readonly string[];
}

const MAX_IN_FLIGHT = 64;
/** So long a stop waits for renewals of logins: an authorization server that hangs does not hold it up for longer. */
const RENEWAL_MS = 5_000;

interface ServedServer extends CallTools {
  /** It only lists the tools: calls are made on connections of accounts. */
  readonly isPersonal: boolean;
  readonly tokens: Pick<TokenSource, 'settled'> | null;
  readonly hide: KnownSecrets['hideIn'];
  /** Applied to successful answers. */
  readonly hideAnswer: KnownSecrets['hideIn'];
}

export function createMcpPool(options: McpPoolOptions): McpPool {
  const active = new Set<CallDeadline>();
  const { schemas = createSchemaChecks(), secrets = createKnownSecrets() } = options;
  const events = createServerEvents();
  const served = new Map(
    options.servers.map((server) => [
      server.name,
      serve(server, { ...options, schemas, secrets, active, events }),
    ]),
  );
  const configured = new Map(options.servers.map((server) => [server.name, server]));
  const personal = createPersonalConnections((name, account, login) => {
    const server = configured.get(name);
    if (server === undefined || options.loginsOf === undefined)
      throw new Error(`${name} has no personal logins`);
    const store = options.loginsOf(account);
    return serve(server, {
      ...options,
      logins: login === undefined ? store : storeOfLogin(store, login),
      remedy: CALLERS_REMEDY,
      schemas,
      secrets: createNestedSecrets(secrets),
      active,
      events: createServerEvents(),
    });
  });
  let stopping: Promise<void> | null = null;

  const stop = async (): Promise<void> => {
    for (const deadline of active) deadline.end('stopped');
    const all = [...served.values(), ...personal.close()];
    await Promise.all(all.map(({ connection }) => connection.stop()));
    const renewals = all.map(async ({ tokens }) => tokens?.settled());
    await settledWithin(Promise.all(renewals), RENEWAL_MS);
    if (options.schemas === undefined) await schemas.stop();
  };

  return {
    start() {
      for (const { connection } of served.values()) connection.start();
    },
    stop: () => (stopping ??= stop()),
    subscribe: events.subscribe,
    async call(request) {
      const tools = served.get(request.server);
      if (tools === undefined) return unknownServer(request.server, [...served.keys()]);
      // @guard personal-connection
      if (!tools.isPersonal) return calledOn(tools, request);
      const { server, account, login } = request;
      if (account === undefined || options.loginsOf === undefined) return withoutAccount(server);
      return personal.use({ server, account, login }, async (own) => calledOn(own, request));
    },
    async withdraw(server, task, endpoint, account) {
      const tools = served.get(server);
      if (tools === undefined) return { kind: 'moot', reason: 'its server is not configured any more' };
      const withdrawn = async ({ connection, hide }: ServedServer): Promise<Withdrawal> =>
        hide(await withdrawnTask({ name: server, connection, only: null }, task, endpoint));
      if (!tools.isPersonal) return withdrawn(tools);
      if (account === undefined || options.loginsOf === undefined)
        return { kind: 'moot', reason: 'no account is known that its call was made for' };
      return personal.use({ server, account }, withdrawn);
    },
    async read(request) {
      const tools = served.get(request.server);
      if (tools === undefined) return unknownServer(request.server, [...served.keys()]);
      if (tools.isPersonal) return withoutAccount(request.server);
      const outcome = await readServer(tools, request);
      const isAnswer = outcome.kind === 'answer' && 'result' in outcome.answer;
      return isAnswer && !isListing(request.method) ? tools.hideAnswer(outcome) : tools.hide(outcome);
    },
    tools: (server) => served.get(server)?.connection.tools()?.definitions ?? null,
    describe: (server, tool) => served.get(server)?.connection.tools()?.find(tool)?.definition ?? null,
    status: (server) => served.get(server)?.connection.status() ?? null,
    servers: () => [...served.keys()],
  };
}

async function calledOn(tools: ServedServer, request: ToolCallRequest): Promise<ToolCallOutcome> {
  const shown = request.hidesResult === true ? { ...tools, hideAnswer: tools.hide } : tools;
  return shownOutcome(shown, await callTool(tools, hidingReports(request, tools.hide)));
}

/** The secrets of one account: they are forgotten with its connection. */
function createNestedSecrets(all: KnownSecrets): KnownSecrets {
  const own = createKnownSecrets();
  return {
    add: own.add,
    hide: (text) => all.hide(own.hide(text)),
    hideIn: (value) => all.hideIn(own.hideIn(value)),
  };
}

/** A successful result stays as the tool wrote it, unless the server is configured otherwise. */
function shownOutcome({ hide, hideAnswer }: ServedServer, outcome: ToolCallOutcome): ToolCallOutcome {
  switch (outcome.kind) {
    case 'failed':
      return hide(outcome);
    case 'result':
      return outcome.result.isError === true ? hide(outcome) : hideAnswer(outcome);
    case 'asks': {
      // The server reads its names of the questions and its state again.
      const questions = outcome.questions.map((named) => ({ ...named, question: hide(named.question) }));
      return { ...outcome, questions };
    }
  }
}

/** Every tenant reads what a server lists. */
function isListing(method: ReadRequest['method']): boolean {
  return method.endsWith('/list');
}

/** The reason why a server is away, its own text, or its prompt for a model may quote a secret. */
function hidingReports(request: ToolCallRequest, hide: KnownSecrets['hideIn']): ToolCallRequest {
  const { onProgress, onQuestion, onSampling } = request;
  return {
    ...request,
    ...(onProgress && { onProgress: (progress) => onProgress(hide(progress)) }),
    ...(onQuestion && { onQuestion: (question, withdrawn) => onQuestion(hide(question), withdrawn) }),
    ...(onSampling && { onSampling: (sampling, withdrawn) => onSampling(hide(sampling), withdrawn) }),
  };
}

interface PoolParts extends Pick<McpPoolOptions, 'logger' | 'random' | 'logins' | 'onOutput'> {
  readonly schemas: SchemaChecks;
  readonly secrets: KnownSecrets;
  readonly active: Set<CallDeadline>;
  readonly events: ReturnType<typeof createServerEvents>;
  /** Remedy where a login is needed. Default: the command of the operator. */
  readonly remedy?: string;
}

const CALLERS_REMEDY = 'its caller has to log in again';

function serve(server: McpServerOptions, { random = Math.random, ...pool }: PoolParts): ServedServer {
  const { schemas, secrets, active, events } = pool;
  const { name } = server;
  const onLogin = (login: LoginSummary | null): void => source.login(login);
  const remedy = pool.remedy === undefined ? {} : { remedy: pool.remedy };
  const tokens = tokensFor(server, pool.logins ?? null, { random, onLogin, ...remedy });
  const configured = secretsOfServer(server);
  secrets.add(() => configured);
  if (tokens !== null) secrets.add(() => tokens.secrets());
  const hide = secrets.hideIn;
  const logger = forServer(pool.logger, name, hide);
  const source = events.sourceOf(name, logger);
  const connection = createConnection({
    server,
    tokens,
    logger,
    onOutput: (line, suppressed) => pool.onOutput?.(name, hide(line), suppressed),
    random,
    schemas,
    hide,
    onTools: ({ definitions, faults, instructions, offers }) =>
      source.tools(definitions, faults, instructions, offers),
    onStatus: (status, error, outage) => source.status(status, hide(error), outage),
  });
  const slots = createSemaphore(server.serial === true ? 1 : (server.maxInFlight ?? MAX_IN_FLIGHT));
  const auth = server.transport.kind === 'http' ? server.transport.auth : undefined;
  const isPersonal = auth?.login === 'each';
  // No command of an operator renews the login of a caller.
  const grant = isPersonal ? undefined : auth?.grant;
  const hideAnswer: typeof hide = server.redactResults === true ? hide : (answer) => answer;
  return { connection, slots, active, hide, hideAnswer, grant, tokens, isPersonal };
}

function forServer(logger: Logger, server: string, hide: KnownSecrets['hideIn']): Logger {
  return {
    debug: (fields, message) => logger.debug({ server, ...hide(fields) }, message),
    info: (fields, message) => logger.info({ server, ...hide(fields) }, message),
    warn: (fields, message) => logger.warn({ server, ...hide(fields) }, message),
    error: (fields, message) => logger.error({ server, ...hide(fields) }, message),
  };
}

function withoutAccount(server: string): Extract<ToolCallOutcome & ReadOutcome, { kind: 'failed' }> {
  const message = `The MCP server "${server}" is called with the logins of callers only, and this call has no caller`;
  return { kind: 'failed', error: errorEnvelope('auth', message, { server }), sent: false };
}

function unknownServer(
  server: string,
  known: readonly string[],
): Extract<ToolCallOutcome & ReadOutcome, { kind: 'failed' }> {
  const details = { server, close_names: closeNames(server, known) };
  return {
    kind: 'failed',
    error: errorEnvelope('unknown_tool', `No MCP server is named "${server}"`, details),
    sent: false,
  };
}
