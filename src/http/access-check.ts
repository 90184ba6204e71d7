/** Asks each request for its key, and the key for the scope of the route.
 *  It must never let a request pass whose route has no rule, nor show a key. */
import type { FastifyRequest, RouteOptions } from 'fastify';
import { missingScope, onBehalfOf } from './access/caller.ts';
import { notOperator, type OtherTenants, takenTenant } from './access/other-tenants.ts';
import type { Scope } from '../contract/access/access.ts';
import type { Admission, Gate } from './access/gate.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import type { PersonSource } from './access/persons.ts';
import type { Principal } from './access/principal.ts';
import type { ViewTokens } from './access/view-tokens.ts';
import type { SessionAdmission, Sessions } from './access/sessions.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { isMcpPath } from './allowed-host.ts';
import type { App } from './app.ts';
import { securityOf } from './openapi.ts';
import type { RouteRule } from '../contract/operations/routes.ts';
import { isOfTenant, isOperators, ruleOf, secondScopeOf } from './route-rules.ts';
import { crossSiteRefusal, sessionOf } from './session-cookie.ts';
import type { ServerResponse } from 'node:http';

/** Whether a caller may see details: anybody where no key is asked for. */
export type SeesDetails = (request: FastifyRequest) => boolean;

interface RuledConfig {
  rule?: RouteRule;
  /** The second scope of a route that needs two. */
  also?: Scope | undefined;
  /** Only keys of the default tenant may call it. */
  forOperators?: boolean;
  /** It reads what a tenant has. */
  ofTenant?: boolean;
  /** Its answer may last. Default: by the request. */
  lasts?: boolean;
}

/** Marks of an answer that may last. */
const STREAM = 'text/event-stream';

export interface Caller {
  readonly principal: Principal;
  /** When its session ends, milliseconds since the epoch. Absent: it has none. */
  readonly untilAt?: number;
  /** The source of the person's claims. Absent: the session represents a key. */
  readonly source?: PersonSource;
  /** The admission of an answer that has begun. Absent: that of the credential. */
  readonly stays?: () => Promise<Admission>;
}

const callers = new WeakMap<FastifyRequest, Caller | 'open'>();

/** The sender of the request; `open`: no key is required; null: unknown. */
export function callerOf(request: FastifyRequest): Caller | 'open' | null {
  return callers.get(request) ?? null;
}

/** Access tokens of MCP hosts. */
export interface HostTokens {
  /** The token in an Authorization header; null: it has not the form of one. */
  tokenIn(authorization: string): string | null;
  /** `stays`: the admission of an answer that has begun. */
  admit(token: string, url: string): Promise<Admission & { readonly stays?: () => Promise<Admission> }>;
}

/** Lets in by key or token, and a browser by its session. */
export interface Doors {
  /** Tokens of browsers that read one request. */
  readonly views: ViewTokens;
  /** null: hosts cannot log in. Default: null. */
  readonly hosts?: HostTokens | null;
  readonly gate: Gate;
  readonly sessions: Sessions;
  readonly others: OtherTenants;
}

/** Must be called before the routes are registered. `doors` null: no key is required. */
export function checkAccess(app: App, doors: Doors | null): SeesDetails {
  app.addHook('onRoute', giveRule);
  if (doors === null) return () => true;
  app.addHook('onRequest', (request, _reply, done) => {
    admit(request, doors, done);
  });
  // Here and not before: the events of a body are not of the call that waits for it.
  const answers = createOpenAnswers();
  app.addHook('preValidation', (request, { raw }, done) => {
    admitWithBody(request, doors, (refusal) => {
      const caller = callerOf(request);
      if (caller === 'open') takeOwnTenant(request);
      if (refusal !== undefined || caller === null || caller === 'open') return done(refusal);
      if (mayLast(request)) {
        const { id, look } = credentialOf(request, doors);
        answers.watch(raw, id, caller.stays ?? look);
      }
      actingAs(request, caller.principal, doors.others, done);
    });
  });
  return (request) => doors.gate.isOpen || callers.has(request);
}

/** On behalf of the caller, or of the tenant that it names. */
function actingAs(request: FastifyRequest, principal: Principal, others: OtherTenants, done: Done): void {
  const { ofTenant = false } = request.routeOptions.config as RuledConfig;
  const tenant = ofTenant ? takenTenant(request.query) : undefined;
  if (tenant === undefined) onBehalfOf(principal, done);
  else void actAs(others, { principal, tenant, reads: ['GET', 'HEAD'].includes(request.method) }, done);
}

interface ActsAs {
  readonly principal: Principal;
  readonly tenant: string;
  readonly reads: boolean;
}

async function actAs(others: OtherTenants, { principal, tenant, reads }: ActsAs, done: Done): Promise<void> {
  let actor: Principal | null;
  try {
    actor = reads ? await others.reading(principal, tenant) : await others.changing(principal, tenant);
  } catch (refusal) {
    return done(refusal as Error);
  }
  onBehalfOf(actor ?? principal, done);
}

/** Where no key is needed there is one tenant, and its name is no other one. */
function takeOwnTenant({ query, routeOptions }: FastifyRequest): void {
  const { ofTenant = false } = routeOptions.config as RuledConfig;
  if (ofTenant && (query as { tenant?: unknown }).tenant === DEFAULT_TENANT) takenTenant(query);
}

type CredentialAdmission = SessionAdmission & Pick<Caller, 'stays'>;

interface Credential {
  /** Two of the same caller are the same; '' where it brought none. */
  readonly id: string;
  readonly look: () => CredentialAdmission | Promise<CredentialAdmission>;
  /** Undefined: it may count for this request. */
  readonly refusal?: Error | undefined;
}

/** A key counts before a session: who sends one means it. */
function credentialOf(request: FastifyRequest, { gate, sessions, views, hosts = null }: Doors): Credential {
  const { authorization } = request.headers;
  const token = authorization === undefined ? null : (hosts?.tokenIn(authorization) ?? null);
  if (token !== null && hosts !== null)
    return { id: `host ${token}`, look: async () => hosts.admit(token, request.url) };
  const view = authorization === undefined ? null : views.tokenIn(authorization);
  if (view !== null) {
    const { request_id: requestId } = (request.params ?? {}) as { request_id?: unknown };
    const place = { route: request.routeOptions.url, requestId };
    return { id: `view ${view}`, look: async () => views.admit(view, place) };
  }
  const session = authorization === undefined ? sessionOf(request) : null;
  if (session !== null)
    return {
      id: `session ${session}`,
      look: () => sessions.admit(session),
      refusal: crossSiteRefusal(request, session),
    };
  const isPublic = ruleOfRequest(request) === 'public';
  const look = () => (isPublic ? gate.admitPublic(authorization) : gate.admit(authorization));
  return { id: authorization ?? '', look };
}

function ruleOfRequest({ routeOptions }: FastifyRequest): RouteRule | undefined {
  return (routeOptions.config as RuledConfig).rule;
}

/** A route of this file that only refuses has its rule already. */
function giveRule(route: RouteOptions): void {
  if ((route.config as RuledConfig | undefined)?.rule !== undefined) return;
  const rules = [route.method].flat().map((method) => ruleOf(method, route.url));
  const [rule = null] = rules;
  if (rule === null || rules.some((other) => other !== rule))
    throw new Error(`${String(route.method)} ${route.url} has not one rule in route-rules.ts`);
  const forOperators = [route.method].flat().some((method) => isOperators(method, route.url));
  const [also] = [route.method].flat().map((method) => secondScopeOf(method, route.url));
  const ofTenant = [route.method].flat().some((method) => isOfTenant(method, route.url));
  route.config = { ...route.config, rule, also, forOperators, ofTenant } as NonNullable<
    RouteOptions['config']
  >;
  if (route.schema?.hide !== true) route.schema = { ...route.schema, security: securityOf(rule, also) };
}

/** A body may take minutes, and a key may be revoked meanwhile. */
function admitWithBody(request: FastifyRequest, doors: Doors, done: Done): void {
  if (request.body === undefined) done();
  else admit(request, doors, done);
}

/** The query as it was parsed: its names may be encoded in the URL. */
function mayLast({ headers, query, url, routeOptions }: FastifyRequest): boolean {
  if ((routeOptions.config as RuledConfig).lasts === true) return true;
  return headers.accept?.includes(STREAM) === true || 'wait_ms' in (query as object) || isMcpPath(url);
}

/** Nothing here waits, unless what is known of the keys is too old, or a browser calls: each `async` hook costs a request a turn. */
function admit(request: FastifyRequest, doors: Doors, done: Done): void {
  const rule = ruleOfRequest(request);
  if (rule === undefined) return done(request.is404 ? undefined : new Error('a route without a rule'));
  const { id, look, refusal } = credentialOf(request, doors);
  if (rule === 'public' && id === '') {
    if (doors.gate.isOpen) callers.set(request, 'open');
    return done();
  }
  const admission = look();
  if (admission instanceof Promise) void settleLate({ request, rule, refusal }, admission, done);
  else done(settled({ request, rule, refusal }, admission));
}

type Done = (error?: Error) => void;

interface Asked {
  readonly request: FastifyRequest;
  readonly rule: RouteRule;
  /** The refusal of a session that does not count for this request. */
  readonly refusal: Error | undefined;
}

async function settleLate(asked: Asked, admission: Promise<CredentialAdmission>, done: Done): Promise<void> {
  let refusal: Error | undefined;
  try {
    refusal = settled(asked, await whileAvailable(() => admission));
  } catch (error) {
    refusal = asked.rule === 'public' ? undefined : (error as Error);
  }
  done(refusal);
}

/** The refusal; undefined: the request goes on. */
function settled({ request, rule, refusal }: Asked, admission: CredentialAdmission): Error | undefined {
  if (admission.kind === 'open') {
    callers.set(request, 'open');
    return undefined;
  }
  if (admission.kind === 'refused') {
    const { reason, detail = UNAUTHORIZED[isOfSession(request) ? 'ended' : reason] } = admission;
    return rule === 'public' ? undefined : new DirectiveRefused(problem('unauthorized', { detail }));
  }
  if (refusal !== undefined) return refusal;
  const { principal, untilAt, source, stays } = admission;
  callers.set(request, {
    principal,
    ...(untilAt !== undefined && { untilAt }),
    ...(source && { source }),
    ...(stays && { stays }),
  });
  if (rule === 'public') return undefined;
  const { also = rule, forOperators = false } = request.routeOptions.config as RuledConfig;
  return (
    missingScope(principal, rule) ??
    missingScope(principal, also) ??
    (forOperators ? notOperator(principal) : undefined)
  );
}

function isOfSession(request: FastifyRequest): boolean {
  return request.headers.authorization === undefined && sessionOf(request) !== null;
}

/** The same words for a key that never was, one that was revoked, and one that has expired. */
const UNAUTHORIZED = {
  missing: 'This service asks for a key: send it in the header, as in `Authorization: Bearer adj_…`.',
  wrong: 'The key or token is not known here; or it was revoked, or has expired.',
  ended: 'The session has ended: it expired, was signed out, or its key is no longer valid. Sign in again.',
};

/** With the age of what is known of the keys, less than 3 s after the key has expired; at most 2 s after a revocation that is heard. */
const CHECK_MS = 500;

interface OpenAnswers {
  /**
   * Checks an open answer until it is closed. `credential`: that of the caller; `admit` tells whether it is still
   * valid.
   */
  watch(answer: ServerResponse, credential: string, admit: Admit): void;
}

type Admit = () => Admission | Promise<Admission>;

interface Watched {
  readonly admit: Admit;
  readonly answers: Set<ServerResponse>;
}

function createOpenAnswers(): OpenAnswers {
  const open = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;

  function forget(answer: ServerResponse, credential: string): void {
    const answers = open.get(credential)?.answers;
    answers?.delete(answer);
    if (answers?.size === 0) open.delete(credential);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  async function check({ admit, answers }: Watched): Promise<void> {
    const { kind } = await admit();
    if (kind === 'refused') for (const answer of answers) answer.destroy();
  }

  function checkAll(): void {
    // Without Redis this cannot be known: the next check decides.
    for (const watched of open.values()) check(watched).catch(() => {});
  }

  return {
    watch(answer, credential, admit) {
      const watched = open.get(credential) ?? { admit, answers: new Set() };
      watched.answers.add(answer);
      open.set(credential, watched);
      answer.once('close', () => forget(answer, credential));
      timer ??= setInterval(checkAll, CHECK_MS).unref();
    },
  };
}
