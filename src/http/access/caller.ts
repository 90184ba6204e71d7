// Who calls now, along the asynchronous calls that a request causes; and a client that asks it at each call.
// Must never let a call pass on behalf of a caller whose key does not allow it.
import { bulkDecisionBodySchema, decideEach } from '../../contract/run/bulk-decision.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Scope } from '../../contract/access/access.ts';
import type { BudgetListing, ListedBudget } from '../../contract/model/budget-listing.ts';
import type { Spender } from '../../contract/model/budget.ts';
import type { BulkRedrive } from '../../contract/directive/bulk.ts';
import type { Redrive } from '../../contract/directive/dead-letter.ts';
import { tooManyDirectives } from '../../contract/directive/directive.ts';
import type { DirectiveClient, RunCalls } from '../../contract/directive/directive-client.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { RepeatedRequest } from '../../contract/run/again.ts';
import { answeredRuns } from '../../contract/run/run-answer.ts';
import type { Submission } from '../../contract/directive/submission.ts';
import { answeredBySchema } from '../../contract/tool/tool-question.ts';
import type { Audit, Subject } from './audit.ts';
import type { SpendBudget } from './key-budget.ts';
import { callerText, hasScope, isRestricted, type Principal } from './principal.ts';
import { guardReadings, notOperator, type OtherTenants } from './other-tenants.ts';
import { takingShown } from '../../contract/schedule/shown-schedule.ts';
import { guardSchedules } from './schedule-rights.ts';
import { forbiddenOnce, forbiddenRun, forbiddenUnderKey, forbiddenUse, forbiddenWait } from './use.ts';

const callers = new AsyncLocalStorage<Principal>();

/** `work`, and all that it causes, is done on behalf of the principal. */
export function onBehalfOf(principal: Principal, work: () => void): void {
  callers.run(principal, work);
}

/** The caller of this request; null: no key is required, or the service itself calls. */
export function currentCaller(): Principal | null {
  return callers.getStore() ?? null;
}

/** The budgets that model calls of a submission count against; undefined: no key is required. */
export function currentSpender(): Spender | undefined {
  const caller = currentCaller();
  if (caller === null) return undefined;
  const { id: key, issuer, tokensPerDay, moneyPerDay } = caller;
  return {
    key,
    ...(issuer === undefined ? {} : { issuer }),
    ...(tokensPerDay === null ? {} : { tokens_per_day: tokensPerDay }),
    ...(moneyPerDay === null ? {} : { money_per_day: moneyPerDay }),
  };
}

/** The refusal of a caller that has not the scope; undefined: it has. */
export function missingScope(principal: Principal, scope: Scope): DirectiveRefused | undefined {
  if (hasScope(principal, scope)) return undefined;
  return forbidden(`The ${callerText(principal)} has not the scope ${scope}.`, { scope });
}

function requireCaller(scope: Scope): Principal | null {
  const caller = currentCaller();
  const refusal = caller === null ? undefined : missingScope(caller, scope);
  if (refusal !== undefined) throw refusal;
  return caller;
}

/** An administrator of the default tenant; null: no key is needed. */
function requireOperator(): Principal | null {
  const caller = requireCaller('admin');
  const refusal = caller === null ? undefined : notOperator(caller);
  if (refusal !== undefined) throw refusal;
  return caller;
}

function forbidden(detail: string, members: object = {}): DirectiveRefused {
  return new DirectiveRefused(problem('forbidden', { detail, ...members }));
}

export interface ClientGuards {
  readonly audit: Audit;
  readonly spend: SpendBudget;
  readonly maxDirectives: number;
  /** The id of the key that submitted a directive of the caller's tenant; null: there is no such directive, or no key is known. */
  readonly submitterOf: SubmitterOf;
  /** null: no server is called with the logins of callers. */
  readonly starterOf: StarterOf | null;
  /** Who may read what other tenants have. */
  readonly others: Pick<OtherTenants, 'reading'>;
}

/** The caller whose logins at servers a run uses; null: none. */
export type StarterOf = (requestId: string) => Promise<Pick<Spender, 'key' | 'issuer'> | null>;

export type SubmitterOf = (requestId: string, directiveId: string) => Promise<string | null>;

/** The client of the API: each call that changes something asks who calls, and is noted. Reading is allowed by route. */
export function guardClient(client: DirectiveClient, guards: ClientGuards): DirectiveClient {
  const { audit, spend, submitterOf, others } = guards;
  const readings = guardReadings(client, others, currentCaller);
  return {
    ...client,
    ...guardSubmissions(client, guards),
    cancel: async (requestId, directiveId, options) => {
      const caller = requireCaller('cancel');
      const cancelled = await audit.around(caller, 'cancel', { requestId, target: directiveId }, () =>
        client.cancel(requestId, directiveId, options),
      );
      if (mayRead(caller)) return cancelled;
      return { ...cancelled, directives: cancelled.directives.map((each) => withoutResult(each)) };
    },
    ...guardRepeats(client, audit, spend),
    prioritize: async (requestId, directiveId, priority) => {
      const caller = requireCaller('submit');
      if (caller !== null && (await submitterOf(requestId, directiveId)) !== caller.id)
        requireCaller('cancel');
      return audit.around(caller, 'prioritize', { requestId, target: directiveId }, () =>
        client.prioritize(requestId, directiveId, priority),
      );
    },
    ...readings,
    serverOutput: async (server) => {
      requireOperator();
      return client.serverOutput(server);
    },
    score: async (requestId, score) => {
      const caller = requireCaller('submit');
      const recorded = await client.score(requestId, signedBy(caller, score));
      await audit.note(caller, 'score', { requestId, target: score.name });
      return recorded;
    },
    answer: async (requestId, inputId, answer) => {
      const caller = requireCaller('decide');
      return audit.around(caller, 'answer', { requestId, target: inputId }, () =>
        client.answer(requestId, inputId, signedBy(caller, answer)),
      );
    },
    reconcile: async (requestId, directiveId) => {
      const caller = requireCaller('redrive');
      requireCaller('read');
      if (caller !== null && isLimited(caller)) throw forbidden(NO_REDRIVE);
      return audit.around(caller, 'reconcile', { requestId, target: directiveId }, () =>
        client.reconcile(requestId, directiveId),
      );
    },
    redrive: async (which, options) => {
      const caller = requireCaller('redrive');
      if (caller !== null && isLimited(caller)) throw forbidden(NO_REDRIVE);
      const work = async () => client.redrive(which, options);
      return isDryRun(which)
        ? readOnly(work)
        : audit.around<Redrive>(caller, 'redrive', {}, work, { of: redrivenOnes });
    },
    cancelAll: async (body, options) => {
      const caller = requireCaller('cancel');
      const work = async () => client.cancelAll(body, options);
      if (isDryRun(body)) return readOnly(work);
      return audit.around(caller, 'cancel', {}, work, {
        of: ({ requests }) => requests.map(({ request_id: requestId }) => ({ requestId })),
      });
    },
    redriveAll: async (body, options) => {
      const caller = requireCaller('redrive');
      if (caller !== null && isLimited(caller)) throw forbidden(NO_REDRIVE);
      const work = async () => client.redriveAll(body, options);
      return isDryRun(body)
        ? readOnly(work)
        : audit.around<BulkRedrive>(caller, 'redrive', {}, work, { of: redrivenOnes });
    },
    reindex: async (options) => {
      const caller = requireOperator();
      // The first step has it built; those that follow only ask how far it is.
      if (options?.cursor !== undefined) return client.reindex(options);
      return audit.around(caller, 'reindex', {}, () => client.reindex(options));
    },
    budgets: async () => ownBudgets(currentCaller(), await client.budgets()),
    drainWorker: async (id, drain = true) => {
      const caller = requireCaller('admin');
      return audit.around(caller, drain ? 'drain_worker' : 'resume_worker', { target: id }, () =>
        client.drainWorker(id, drain),
      );
    },
    servers: forAdmins(() => client.servers, ['list', 'get', 'put', 'remove', 'test']),
    runtimeAgents: forAdmins(() => client.runtimeAgents, ['list', 'get', 'put', 'remove']),
    policies: forAdmins(() => client.policies, ['list', 'get', 'put', 'remove']),
    runs: answeredRuns(guardRuns(client, guards), client),
    schedules: takingShown(
      guardSchedules(readings.schedules, {
        audit,
        spend,
        refuse,
        requireCaller: () => requireCaller('submit'),
        mayRead,
      }),
    ),
  };
}

/** Definitions hold addresses, prompts and rules: only administrators of the tenant read and change them. */
function forAdmins<Client extends object>(client: () => Client, names: readonly (keyof Client)[]): Client {
  const guarded = names.map((name) => [
    name,
    async (...given: unknown[]): Promise<unknown> => {
      requireCaller('admin');
      return (client()[name] as (...given: unknown[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(guarded) as Client;
}

const NO_AGENT =
  'A key that is limited to tools, agents or models cannot add an agent, which may use what the key may not.';

/** Throws `DirectiveRefused` (`forbidden`) where the caller is limited to tools, agents or models. */
export function requireUnrestricted(): void {
  const caller = currentCaller();
  if (caller !== null && isRestricted(caller)) throw forbidden(NO_AGENT);
}

const NO_REPEAT =
  'A key that is limited to tools, agents or models cannot run a request again or fork it: the original says what it uses.';

/** The content is that of another request, which the caller must be allowed to read. */
function guardRepeats(
  client: DirectiveClient,
  audit: Audit,
  spend: SpendBudget,
): Pick<DirectiveClient, 'again' | 'fork'> {
  const around = async (work: () => Promise<RepeatedRequest>): Promise<RepeatedRequest> => {
    const caller = requireCaller('submit');
    requireCaller('read');
    if (caller !== null && isRestricted(caller)) throw forbidden(NO_REPEAT);
    if (caller !== null) await spend(caller, 1);
    const repeated = await work();
    const { request_id: requestId, agent, id } = repeated;
    await audit.note(caller, agent === undefined ? 'submit' : 'start_run', {
      requestId,
      target: agent ?? id,
    });
    return repeated;
  };
  return {
    again: async (requestId, changes, options) => around(() => client.again(requestId, changes, options)),
    fork: async (requestId, fork, options) => around(() => client.fork(requestId, fork, options)),
  };
}

/** Who manages keys sees what each has spent; the operators', what each tenant has. */
function ownBudgets(caller: Principal | null, listing: BudgetListing): BudgetListing {
  if (caller === null || hasScope(caller, 'admin')) return listing;
  const { more: _more, budgets, ...rest } = listing;
  const isOwn = ({ key, tenant = caller.tenant }: ListedBudget): boolean =>
    tenant === caller.tenant && (key === undefined || key === caller.id);
  return { ...rest, budgets: budgets.filter(isOwn) };
}

/** Whether the caller may see results; a caller without a key may. */
function mayRead(caller: Principal | null): boolean {
  return caller === null || hasScope(caller, 'read');
}

function withoutResult<T extends { result?: unknown }>({ result: _result, ...state }: T): Omit<T, 'result'> {
  return state;
}

/** A dry run changes nothing: its answer names the work that a filter finds. */
async function readOnly<T>(work: () => Promise<T>): Promise<T> {
  requireCaller('read');
  return work();
}

type Submissions = Pick<DirectiveClient, 'submit' | 'execute'>;

function guardSubmissions(
  client: Submissions,
  { audit, spend, maxDirectives, submitterOf }: ClientGuards,
): Submissions {
  return {
    submit: async (directives, options) => {
      const caller = requireUse(directives, maxDirectives, (options?.waitMs ?? 0) > 0);
      if (caller !== null) await spend(caller, directivesOf(directives).length);
      const submission = await client.submit(directives, options);
      // Not waited for: there are many, and each is in the log of its request.
      if (caller !== null) void audit.note(caller, 'submit', submitted(submission));
      return mayRead(caller) ? submission : ownResults(submission, caller, submitterOf);
    },
    // Its answer is always a result, perhaps of an earlier submission. No route calls it, so nothing is noted.
    execute: async (directive, options) => {
      const caller = requireUse(directive, 1, true);
      requireCaller('read');
      if (caller !== null) await spend(caller, 1);
      return client.execute(directive, options);
    },
  };
}

/** A repeat of a submission of another key is answered with its state only. */
async function ownResults(
  { directives, ...submission }: Submission,
  caller: Principal | null,
  submitterOf: SubmitterOf,
): Promise<Submission> {
  const shown: Submission['directives'] = [];
  for (const entry of directives) {
    const isOwn =
      entry.result === undefined ||
      entry.status === 'accepted' ||
      (await submitterOf(submission.request_id, entry.id)) === caller?.id;
    shown.push(isOwn ? entry : withoutResult(entry));
  }
  return { ...submission, directives: shown };
}

function submitted({ request_id: requestId, directives }: Submission): Subject {
  const [first] = directives;
  return { requestId, target: directives.length === 1 ? first?.id : String(directives.length) };
}

const NO_REDRIVE =
  'A key with limits (tools, agents, models, a minute or a day, tokens or money) cannot redrive or reconcile.';

function isLimited(caller: Principal): boolean {
  const { perMinute, perDay, tokensPerDay, moneyPerDay } = caller;
  return isRestricted(caller) || [perMinute, perDay, tokensPerDay, moneyPerDay].some((most) => most !== null);
}

/** A redrive of nothing is not noted: it must not push out what was changed. */
function redrivenOnes({ redriven }: Pick<Redrive, 'redriven'>): Subject[] {
  return redriven.length === 0 ? [] : [{ target: String(redriven.length) }];
}

/** A value of another form than true is refused by the schema afterwards, or acts. */
function isDryRun(body: unknown): boolean {
  return (Object(body) as { dry_run?: unknown }).dry_run === true;
}

/** Charges the redriven directives to the budget of the caller, once their number is known. */
export function chargeCaller(spend: SpendBudget): (count: number) => Promise<void> {
  return async (count) => {
    const caller = currentCaller();
    if (caller !== null) await spend(caller, count);
  };
}

type Runs = Pick<DirectiveClient, 'runs' | 'request'>;

/** Who acts on a run needs its agent among those of the key. */
async function requireAgent(
  caller: Principal | null,
  client: Runs,
  requestId: string,
  changes: { overrides?: unknown } = {},
): Promise<void> {
  if (caller === null || !isRestricted(caller)) return;
  refuse(forbiddenRun(caller, { ...changes, agent: (await client.request(requestId))?.run?.agent }));
}

/** A run acts at servers as its starter, so that only the starter says what it does next. */
async function requireStarter(
  caller: Principal | null,
  starterOf: StarterOf | null,
  requestId: string,
): Promise<void> {
  const starter = caller === null || starterOf === null ? null : await starterOf(requestId);
  // @guard only-its-starter
  if (caller === null || starter === null) return;
  if (starter.key === caller.id && starter.issuer === caller.issuer) return;
  throw forbidden(
    'The run uses the logins of the caller that started it: only that caller sends it input, resumes it, or changes the arguments of a call.',
  );
}

function guardRuns(
  client: Runs,
  { audit, spend, starterOf }: Pick<ClientGuards, 'audit' | 'spend' | 'starterOf'>,
): RunCalls {
  const { runs } = client;
  const decide: RunCalls['decide'] = async (requestId, callId, decision) => {
    const caller = requireCaller('decide');
    await requireAgent(caller, client, requestId);
    // Changed arguments are a call of their own.
    if (isObject(decision) && decision.arguments !== undefined)
      await requireStarter(caller, starterOf, requestId);
    return audit.around(caller, 'decide', { requestId, target: callId }, () =>
      runs.decide(requestId, callId, signedBy(caller, decision)),
    );
  };
  return {
    start: async (run, options) => {
      const caller = requireCaller('submit');
      if (caller !== null) requireRun(caller, Object(run) as Record<string, unknown>);
      if (caller !== null) await spend(caller, 1);
      const started = await runs.start(run, options);
      await audit.note(caller, 'start_run', { requestId: started.request_id, target: started.agent });
      return started;
    },
    input: async (requestId, input) => {
      const caller = requireCaller('submit');
      // It makes the agent go on, as a start does.
      await requireAgent(caller, client, requestId);
      await requireStarter(caller, starterOf, requestId);
      if (caller !== null) await spend(caller, 1);
      const accepted = await runs.input(requestId, input);
      await audit.note(caller, 'input', { requestId, target: accepted.input_id });
      return accepted;
    },
    resume: async (requestId, body, options) => {
      const caller = requireCaller('submit');
      await requireAgent(caller, client, requestId, { overrides: body?.overrides });
      await requireStarter(caller, starterOf, requestId);
      if (caller !== null) await spend(caller, 1);
      const resumed = await runs.resume(requestId, body, options);
      await audit.note(caller, 'resume_run', { requestId, target: resumed.agent });
      return resumed;
    },
    decide,
    decideAll: async (body) => {
      requireCaller('decide');
      return decideEach(decide, readBody(bulkDecisionBodySchema, body));
    },
  };
}

function requireRun(caller: Principal, run: Record<string, unknown>): void {
  refuse(forbiddenRun(caller, run));
  const sentence = forbiddenUnderKey(caller, run);
  if (sentence !== null) throw forbidden(sentence, { scope: 'cancel' });
}

/** Who does not say who decides is known by the name of the key, if it may stand there. */
function signedBy<B extends { by?: string | undefined }>(caller: Principal | null, body: B): B {
  if (caller === null || !isObject(body) || body.by !== undefined) return body;
  return answeredBySchema.safeParse(caller.name).success ? { ...body, by: caller.name } : body;
}

/** Before the submission is parsed: what has another form is refused by its schema afterwards. */
function requireUse(directives: unknown, maxDirectives: number, waits: boolean): Principal | null {
  const caller = requireCaller('submit');
  if (caller === null) return null;
  const list = directivesOf(directives);
  // Refused before anything is compared with so many.
  if (list.length > maxDirectives)
    throw refusedAt('invalid_body', [tooManyDirectives(list.length, maxDirectives)]);
  for (const each of list) {
    const directive = Object(each) as Record<string, unknown>;
    if (isRestricted(caller)) refuse(forbiddenUse(caller, directive));
    const sentence = forbiddenOnce(caller, directive);
    if (sentence !== null) throw forbidden(sentence, { scope: 'cancel' });
    const unread = waits ? forbiddenWait(caller, directive) : null;
    if (unread !== null) throw forbidden(unread, { scope: 'read' });
  }
  return caller;
}

function directivesOf(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given;
  const { directives, type } = Object(given) as { directives?: unknown; type?: unknown };
  return Array.isArray(directives) && type === undefined ? directives : [given];
}

function refuse(sentence: string | null): void {
  if (sentence !== null) throw forbidden(sentence);
}
