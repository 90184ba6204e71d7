// Who may be notified of ends: endpoints of the operator, rules, and whether callers may give addresses of their own.
// Must never accept a secret that is too short to sign with, nor a header that belongs to the signature.
import * as z from 'zod';
import {
  DEFAULT_SENDING,
  type EndFacts,
  type AskRule,
  type EndNotices,
  type Sending,
} from '../contract/signal/end-notices.ts';
import { ASKED_FOR } from '../contract/request/request-listing.ts';
import { toolMatches } from '../contract/tool/tool-pattern.ts';
import { TENANT_FORM, TENANT_NAME } from '../contract/access/tenant-name.ts';
import { endpointNameSchema, isWebhookSecret, SECRET_FORM } from '../contract/signal/webhook.ts';
import { END_STATUSES } from '../contract/signal/webhook-event.ts';
import { httpUrl } from './http-url.ts';
import { durationMs } from './lane.ts';
import { byName, recordByName } from './names.ts';
import { notes } from './notes.ts';

const MOST_SECRETS = 4;
const MOST_NAMES = 64;

const secretSchema = z.string().refine(isWebhookSecret, `must be ${SECRET_FORM}`);

const secretsSchema = z.array(secretSchema).min(1).max(MOST_SECRETS);

const OWN_HEADERS =
  /^(?:webhook-.*|host|content-length|content-type|transfer-encoding|connection|upgrade|expect|traceparent|user-agent)$/i;

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'is not the name of a header');

const headerText = z
  .string()
  .max(4_096)
  .regex(/^[\x20-\x7E]*$/, 'has a character no header may have');

const headersSchema = recordByName(headerName, headerText).superRefine((headers, context) => {
  for (const name of Object.keys(headers))
    if (OWN_HEADERS.test(name))
      context.addIssue({ code: 'custom', path: [name], message: 'is set by the service' });
});

const tenantName = z.string().regex(TENANT_NAME, `must be ${TENANT_FORM}`);
const words = (schema: z.ZodType<string>) => z.array(schema).min(1).max(MOST_NAMES).optional();

const matchSchema = z.strictObject({
  types: words(z.string().min(1).max(64)).register(notes, {
    description: 'Types of directives, as `tool_exec`; `run` is that of runs.',
    fallback: 'all',
  }),
  statuses: words(z.enum(END_STATUSES)).register(notes, {
    description: 'How it has ended.',
    fallback: 'however it has ended',
  }),
  agents: words(z.string().min(1).max(128)).register(notes, {
    description: 'Agents whose runs are meant. Directives have none, and do not match.',
    fallback: 'with and without an agent',
  }),
  lanes: words(z.string().min(1).max(128)).register(notes, {
    description: 'Lanes of directives, as `tool.mail`. Runs have none, and do not match.',
    fallback: 'with and without a lane',
  }),
});

const SHORTEST_REPEAT_MS = 1_000;

const asksSchema = z.strictObject({
  kinds: words(z.enum(ASKED_FOR)).register(notes, {
    description: 'Kinds of questions: approvals of calls, approvals of budgets, questions of tools.',
    fallback: 'all',
  }),
  agents: words(z.string().min(1).max(128)).register(notes, {
    description: 'Agents whose runs ask. A call without a run has none, and does not match.',
    fallback: 'with and without an agent',
  }),
  tools: words(z.string().min(1).max(256)).register(notes, {
    description: 'Tools that are to be called, or that ask; for a budget `budget.<limit>`.',
    special: '`*` matches any characters',
    fallback: 'all',
  }),
  after_ms: z.int().min(0).default(0).register(notes, {
    description:
      'Time from the question to the first notice. An endpoint with a longer time is an escalation: it is notified only of what is still open then.',
    unit: 'ms',
  }),
  repeat_ms: z.int().min(SHORTEST_REPEAT_MS).optional().register(notes, {
    description: 'Time from one notice to the next one while the question is open; at most 100 notices.',
    unit: 'ms',
    fallback: 'no reminder',
  }),
});

const sendingFields = {
  timeout_ms: durationMs.max(120_000).default(15_000).register(notes, {
    description: 'How long the receiver may take to answer.',
    unit: 'ms',
  }),
  max_retries: z.int().min(0).max(100).default(DEFAULT_SENDING.max_retries).register(notes, {
    description: 'Deliveries after the first one failed. Then it is a dead letter, which can be redriven.',
    unit: 'attempts',
  }),
  retry_backoff_ms: durationMs.default(DEFAULT_SENDING.retry_backoff_ms).register(notes, {
    description:
      'The wait before the first retry; it doubles each time, up to an hour. A longer Retry-After wins.',
    unit: 'ms',
  }),
  deadline_ms: durationMs.default(DEFAULT_SENDING.deadline_ms).register(notes, {
    description: 'When a delivery is given up, counted from the end that it reports.',
    unit: 'ms',
  }),
  payload_bytes: z.int().min(0).max(262_144).default(DEFAULT_SENDING.payloadBytes).register(notes, {
    description: 'The largest result that an event holds; of a larger one it says where to read it.',
    unit: 'bytes',
  }),
  concurrency: z.int().min(1).max(1_000).default(10).register(notes, {
    description: 'Deliveries at once in one worker.',
    unit: 'calls',
  }),
};

const secretsNote = {
  description:
    'Keys that sign, as `${WEBHOOK_SECRET}` of the environment: `whsec_` and 24 to 64 bytes in base64. Each signs, so that a receiver may change to the next one at any time.',
};

const privateNote = {
  description: 'Whether receivers may have addresses that are not on the public internet.',
  special: 'true = also loopback, private and link-local addresses',
};

const endpointSchema = z.strictObject({
  url: httpUrl()
    .refine((url) => !namesUser(url), 'must not name a user: use a header')
    .register(notes, { description: 'Where events are posted. Redirects are not followed.' }),
  secrets: secretsSchema.register(notes, secretsNote),
  headers: headersSchema
    .prefault({})
    .register(notes, { description: 'Headers of each delivery, as an Authorization.', fallback: 'none' }),
  tenants: words(tenantName).register(notes, {
    description: 'Whose ends go there: others may not name it, and its rule is not for them.',
    fallback: 'all tenants',
  }),
  match: matchSchema.optional().register(notes, {
    description: 'A rule: ends that fit all of it go there without being asked for.',
    special: '`{}` = every end',
    fallback: 'only ends of what names it in `on_end`',
  }),
  asks: asksSchema.optional().register(notes, {
    description:
      'A rule: approvals and questions that fit all of it go there while they are open, as `approval.requested` and `question.asked`.',
    special: '`{}` = every approval and question, at once',
    fallback: 'none',
  }),
  private_addresses: z.boolean().default(false).register(notes, privateNote),
  ...sendingFields,
});

const callersSchema = z.strictObject({
  secrets: secretsSchema.register(notes, secretsNote),
  tenants: words(tenantName).register(notes, {
    description: 'Whose callers may give addresses.',
    fallback: 'all tenants',
  }),
  private_addresses: z
    .boolean()
    .default(false)
    .register(notes, {
      ...privateNote,
      special: 'true = also loopback, private and link-local addresses, and http',
    }),
  ...sendingFields,
});

export const webhookSections = {
  webhooks: z
    .strictObject({
      endpoints: byName(endpointNameSchema, endpointSchema)
        .prefault({})
        .register(notes, { description: 'Receivers by name, for `on_end` and for rules.' }),
      public_url: httpUrl().optional().register(notes, {
        description:
          'Address of the service as people reach it, as `https://adjutant.example.com`; events about approvals and questions link to its page.',
        fallback: 'events hold the path of the page alone',
      }),
      callers_may_give_urls: callersSchema.optional().register(notes, {
        description:
          'Callers may write `{"url": …}` in `on_end`; deliveries to them are signed with these keys.',
        fallback: 'they may only name endpoints',
      }),
    })
    .prefault({})
    .register(notes, {
      description: '[Receivers of notifications about ends](webhooks.md).',
      fallback: 'none',
    }),
};

export type Webhooks = z.output<typeof webhookSections.webhooks>;
export type WebhookEndpoint = z.output<typeof endpointSchema>;
type Match = z.output<typeof matchSchema>;
type Asks = z.output<typeof asksSchema>;

function namesUser(url: string): boolean {
  const { username, password } = URL.parse(url) ?? { username: '', password: '' };
  return username !== '' || password !== '';
}

/** Settings of the section as the parts of the service read them. */
export function endNotices(webhooks: Webhooks): EndNotices {
  const { endpoints, callers_may_give_urls: callers, public_url: publicUrl = '' } = webhooks;
  const rules = [...endpoints].flatMap(([name, { match, tenants }]) =>
    match === undefined ? [] : [{ name, match, tenants }],
  );
  const asking = [...endpoints].flatMap(([endpoint, { asks, tenants }]) =>
    asks === undefined ? [] : [{ rule: ruleOf(endpoint, asks), asks, tenants }],
  );
  return {
    publicUrl: publicUrl.replace(/\/+$/, ''),
    asks: (tenant) => asking.some(({ tenants }) => fits(tenants, tenant)),
    asked: (tenant, ask) =>
      asking.flatMap(({ rule, asks, tenants }) =>
        fits(tenants, tenant) && fitsAsk(asks, ask) ? [rule] : [],
      ),
    fault: (target, tenant) =>
      typeof target === 'string'
        ? nameFault(target, endpoints.get(target), tenant)
        : urlFault(target.url, callers, tenant),
    concerns: (facts) => rules.some(({ match, tenants }) => mayMatch(match, tenants, facts)),
    matching: (facts) =>
      rules.flatMap(({ name, match, tenants }) =>
        mayMatch(match, tenants, facts) && fitsEnd(match, facts) ? [name] : [],
      ),
    sendingTo: (target) => sendingOf(typeof target === 'string' ? endpoints.get(target) : callers),
  };
}

function sendingOf(settings: z.output<typeof callersSchema> | WebhookEndpoint | undefined): Sending {
  if (settings === undefined) return DEFAULT_SENDING;
  const { max_retries, retry_backoff_ms, deadline_ms, payload_bytes: payloadBytes } = settings;
  const { max_backoff_ms } = DEFAULT_SENDING;
  return { max_retries, retry_backoff_ms, max_backoff_ms, deadline_ms, payloadBytes };
}

function ruleOf(endpoint: string, { after_ms: afterMs, repeat_ms }: Asks): AskRule {
  return { endpoint, afterMs, repeatMs: repeat_ms ?? null };
}

function fitsAsk({ kinds, agents, tools }: Asks, ask: Parameters<EndNotices['asked']>[1]): boolean {
  const isTool = tools === undefined || tools.some((pattern) => toolMatches(pattern, ask.tool));
  return isTool && fits(kinds, ask.kind) && fits(agents, ask.agent);
}

function fits(list: readonly string[] | undefined, value: string | null): boolean {
  return list === undefined || (value !== null && list.includes(value));
}

/** Matches the facts that are known before the end. */
function mayMatch(
  { types, agents }: Match,
  tenants: readonly string[] | undefined,
  { tenant, type, agent }: Pick<EndFacts, 'tenant' | 'type' | 'agent'>,
): boolean {
  return fits(tenants, tenant) && fits(types, type) && fits(agents, agent);
}

function fitsEnd({ statuses, lanes }: Match, { status, lane }: EndFacts): boolean {
  return fits(statuses, status) && fits(lanes, lane);
}

function nameFault(name: string, endpoint: WebhookEndpoint | undefined, tenant: string): string | null {
  if (endpoint !== undefined && fits(endpoint.tenants, tenant)) return null;
  return `there is no endpoint "${name}": the operator names them in webhooks.endpoints`;
}

function urlFault(url: string, callers: Webhooks['callers_may_give_urls'], tenant: string): string | null {
  if (callers === undefined || !fits(callers.tenants, tenant))
    return 'addresses are not allowed here: name an endpoint, or ask the operator for webhooks.callers_may_give_urls';
  if (namesUser(url)) return 'must not name a user';
  return new URL(url).protocol === 'https:' || callers.private_addresses ? null : 'must be an https URL';
}
