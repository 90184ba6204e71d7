/** Tables of the scope that each route requires where keys are asked for, and of the largest body that it reads.
 *  It must never have a default: a route without a rule keeps the API from starting. */
import type { Scope } from '../contract/access.ts';
import { ownMember } from '../contract/own-member.ts';

/** `public`: for everyone, with less detail for a caller without a key. */
export type RouteRule = Scope | 'public';

const RULES: Readonly<Record<string, RouteRule>> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /openapi.json': 'public',
  'GET /metrics': 'read',
  // Who signs in has nothing yet; ending a session by its cookie needs the token against other sites.
  'GET /v1/session': 'public',
  'POST /v1/session': 'public',
  'DELETE /v1/session': 'public',
  'POST /v1/directives': 'submit',
  'POST /v1/requests': 'submit',
  'GET /v1/requests': 'read',
  'GET /v1/approvals': 'read',
  'POST /v1/requests/cancel': 'cancel',
  'POST /v1/requests/redrive': 'redrive',
  'POST /v1/reindex': 'admin',
  'GET /v1/requests/:request_id': 'read',
  'GET /v1/requests/:request_id/timeline': 'read',
  'GET /v1/requests/:request_id/trace': 'read',
  'GET /v1/requests/:request_id/archive': 'read',
  'GET /v1/requests/:request_id/signals': 'read',
  'GET /v1/requests/:request_id/directives/:directive_id': 'read',
  'GET /v1/requests/:request_id/directives/:directive_id/payload': 'read',
  'POST /v1/requests/:request_id/cancel': 'cancel',
  'POST /v1/requests/:request_id/directives/:directive_id/cancel': 'cancel',
  'POST /v1/requests/:request_id/directives/:directive_id/priority': 'submit',
  'POST /v1/requests/:request_id/input': 'submit',
  'POST /v1/requests/:request_id/inputs/:input_id': 'decide',
  'POST /v1/requests/:request_id/approvals/:call_id': 'decide',
  'POST /v1/schedules': 'submit',
  'GET /v1/schedules': 'read',
  'GET /v1/schedules/:schedule_id': 'read',
  'PUT /v1/schedules/:schedule_id': 'submit',
  'POST /v1/schedules/:schedule_id/pause': 'submit',
  'POST /v1/schedules/:schedule_id/resume': 'submit',
  'POST /v1/schedules/:schedule_id/trigger': 'submit',
  'DELETE /v1/schedules/:schedule_id': 'submit',
  'GET /v1/dead-letters': 'read',
  'GET /v1/dead-letters/groups': 'read',
  'POST /v1/dead-letters/redrive': 'redrive',
  'GET /v1/tools': 'read',
  'GET /v1/agents': 'read',
  'GET /v1/lanes': 'read',
  'GET /v1/budgets': 'read',
  'GET /v1/workers': 'read',
  'POST /v1/workers/:worker_id/drain': 'admin',
  'POST /v1/workers/:worker_id/resume': 'admin',
  'GET /v1/keys': 'admin',
  'POST /v1/keys': 'admin',
  'GET /v1/audit': 'admin',
  'DELETE /v1/keys/:key_id': 'admin',
  // What a call there does asks for its own scope: see `guardClient`.
  'GET /mcp': 'read',
  'POST /mcp': 'read',
  'DELETE /mcp': 'read',
  'GET /mcp/:server': 'read',
  'POST /mcp/:server': 'read',
  'DELETE /mcp/:server': 'read',
};

/** Bytes of a body where the table below names no more. */
const SMALL_BODY_BYTES = 16 * 1024;
/** Names of 1 000 directives, or the tools of a key. */
const LIST_BODY_BYTES = 512 * 1024;

/** Routes with a larger body than a small one. `work`: content of directives, up to `limits.body_bytes`. */
const LARGER_BODIES: Readonly<Record<string, 'list' | 'work'>> = {
  'POST /v1/directives': 'work',
  'POST /v1/requests': 'work',
  'POST /v1/requests/:request_id/input': 'work',
  'POST /v1/requests/:request_id/inputs/:input_id': 'work',
  'POST /v1/requests/:request_id/approvals/:call_id': 'work',
  'POST /v1/schedules': 'work',
  'PUT /v1/schedules/:schedule_id': 'work',
  'POST /mcp': 'work',
  'POST /mcp/:server': 'work',
  'POST /v1/dead-letters/redrive': 'list',
  'POST /v1/keys': 'list',
};

/** Most bytes of a body of the route, none of them above `mostBytes`. */
export function bodyBytesOf(methods: readonly string[], url: string, mostBytes: number): number {
  const path = url.replace(/\/$/, '');
  const kinds = methods.map((method) => ownMember(LARGER_BODIES, `${method} ${path}`));
  if (kinds.includes('work')) return mostBytes;
  return Math.min(kinds.includes('list') ? LIST_BODY_BYTES : SMALL_BODY_BYTES, mostBytes);
}

/** What concerns the work of all tenants: only keys of the default one. */
const OPERATORS: ReadonlySet<string> = new Set([
  'GET /metrics',
  'POST /v1/reindex',
  'POST /v1/workers/:worker_id/drain',
  'POST /v1/workers/:worker_id/resume',
]);

export function isOperators(method: string, url: string): boolean {
  return OPERATORS.has(`${method === 'HEAD' ? 'GET' : method} ${url}`);
}

/** Pages that tell everyone the same: the description, and the files of the console, which hold no data. */
const PAGES = ['/docs', '/console'];

/** null: there is none. */
export function ruleOf(method: string, url: string): RouteRule | null {
  const isPage = PAGES.some((page) => url === page || url.startsWith(`${page}/`));
  if (isPage && (method === 'GET' || method === 'HEAD')) return 'public';
  return ownMember(RULES, `${method === 'HEAD' ? 'GET' : method} ${url.replace(/\/$/, '')}`) ?? null;
}
