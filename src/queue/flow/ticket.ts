// The ticket of a directive for the gate of a lane: fairness key, priority and limits. A caller never meets the limits
// of another tenant, nor escapes those of a matching rule.
import { hash } from 'node:crypto';
import { type Directive, DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import {
  DEFAULT_PRIORITY,
  type FlowFields,
  type FlowRule,
  type FlowSettings,
  type Ticket,
  type TicketLimit,
  type Tickets,
} from '../../contract/directive/flow.ts';
import { ENCRYPTED } from '../../contract/encrypted/encrypted.ts';
import { modelLane, parseModelName } from '../../contract/model/model-name.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { isSensitiveKey, REDACTED } from '../../contract/json/redaction.ts';
import { tagsOf } from '../../contract/directive/tags.ts';
import { ownId, TENANT_MARK, tenantOf } from '../../contract/access/tenant.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

const NAME_CHARACTERS = 22;
const LABEL_CHARACTERS = 120;
const TOOL_LANE = 'tool.';
/** Shown where a value is encrypted, or no text, number or boolean. */
const UNREADABLE = '(not readable)';
const NO_FIELDS: FlowFields = {};

/** The tickets that are kept with a directive. `models`: as `provider:model`, those that may answer it. */
export function ticketsOf(
  directive: Directive,
  {
    settings,
    lane,
    models = [],
  }: { settings: FlowSettings; lane: string; models?: readonly string[] | undefined },
): Tickets {
  const tenant = tenantOf(directive.request_id);
  const ticket = ticketOf(directive, tenant, settings, lane);
  const others = new Set(models.map((model) => modelLane(parseModelName(model)?.provider ?? '')));
  others.delete(lane);
  const own = JSON.stringify(ticket);
  const tickets = [...others]
    .map((other) => [other, ticketOf(directive, tenant, settings, other)] as const)
    .filter(([, there]) => JSON.stringify(there) !== own);
  return {
    ...(ticket === null ? {} : { ticket }),
    ...(tickets.length === 0 ? {} : { tickets: Object.fromEntries(tickets) }),
  };
}

/** With what it enters the gate of `lane`; null: it is enqueued there at once. */
export function ticketIn({ ticket, tickets }: Tickets, lane: string): Ticket | null {
  const there = tickets && ownMember(tickets, lane);
  return there === undefined ? (ticket ?? null) : there;
}

/** The same with the priority that its record holds. */
export function ticketNow(tickets: Tickets, lane: string, priority: number | null): Ticket | null {
  const ticket = ticketIn(tickets, lane);
  return ticket && withPriority(ticket, priority);
}

/** `priority`: null: as accepted. */
export function withPriority(ticket: Ticket, priority: number | null): Ticket {
  return priority === null ? ticket : { ...ticket, priority };
}

/** null: it does not pass the gate of this lane. */
export function ticketOf(
  directive: Directive,
  tenant: string,
  settings: FlowSettings,
  lane: string,
): Ticket | null {
  const fields = fieldsOf(directive);
  const rules = settings.rules.filter((rule) => fits(rule, { directive, tenant, lane }));
  const ofRules = rules.flatMap((rule) => limitsOfRule(rule, { directive, tenant, lane }));
  const fixing = fixedPriority(rules);
  const isAsked = fields !== NO_FIELDS || ofRules.length > 0 || fixing !== null;
  if (!isAsked && !settings.lanes.some((pattern) => toolMatches(pattern, lane))) return null;
  return {
    turn: turnOf(tenant, fields.fairness_key),
    weight: settings.weights.get(tenant) ?? 1,
    priority: fixing?.priority ?? fields.priority ?? DEFAULT_PRIORITY,
    ...(fixing === null ? {} : { fixed_by: fixing.name }),
    limits: [...ofRules, ...ownLimits(fields, tenant)],
  };
}

/** A user's own type may mean something else by these names. */
function fieldsOf(directive: Directive): FlowFields {
  if (!DIRECTIVE_TYPES.includes(directive.type)) return NO_FIELDS;
  const fields = directive as FlowFields;
  const { priority, fairness_key: key, concurrency, rate } = fields;
  const isGiven =
    priority !== undefined || key !== undefined || concurrency !== undefined || rate !== undefined;
  return isGiven ? fields : NO_FIELDS;
}

/** No tenant has the mark in its name. */
function turnOf(tenant: string, key: string | undefined): string {
  return key === undefined ? tenant : `${tenant}${TENANT_MARK}${nameOf([key])}`;
}

function ownLimits({ concurrency, rate }: FlowFields, tenant: string): TicketLimit[] {
  const limits: TicketLimit[] = [];
  if (concurrency !== undefined) {
    const { key, limit } = concurrency;
    limits.push({
      name: nameOf(['caller', 'concurrency', tenant, key]),
      label: labelOf(key),
      concurrency: limit,
    });
  }
  if (rate !== undefined) {
    const { key, max, per_ms } = rate;
    limits.push({
      name: nameOf(['caller', 'rate', tenant, key]),
      label: labelOf(key),
      rate: { max, per_ms },
    });
  }
  return limits;
}

interface Subject {
  readonly directive: Directive;
  readonly tenant: string;
  readonly lane: string;
}

function fits({ match }: FlowRule, { directive, tenant, lane }: Subject): boolean {
  return (
    (match.tenant === null || match.tenant === tenant) &&
    (match.type === null || match.type === directive.type) &&
    (match.lane === null || toolMatches(match.lane, lane)) &&
    (match.tool === null || isTool(match.tool, directive, lane)) &&
    (match.tag === null || tagsOf(directive.metadata).includes(match.tag))
  );
}

/** With and without the name of its server: a caller may write either. */
function isTool(pattern: string, directive: Directive, lane: string): boolean {
  if (directive.type !== 'tool_exec') return false;
  const server = ownId(lane.slice(TOOL_LANE.length));
  const given = directive.tool_name;
  const own = given.startsWith(`${server}.`) ? given.slice(server.length + 1) : given;
  return [given, own, `${server}.${own}`].some((name) => toolMatches(pattern, name));
}

function limitsOfRule({ name, match, concurrency, rate }: FlowRule, subject: Subject): TicketLimit[] {
  const limits: TicketLimit[] = [];
  const add = (kind: 'concurrency' | 'rate', by: readonly string[], limit: Partial<TicketLimit>): void => {
    const values = by.map((path) => valueAt(path, subject));
    if (!values.every((value) => value !== undefined)) return;
    const shown = values.map((value, position) =>
      value === null ? UNREADABLE : isSecret(by[position]) ? REDACTED : value,
    );
    const label = labelOf(`rule ${name}${shown.length === 0 ? '' : `: ${shown.join(', ')}`}`);
    const isShared = match.tenant === null && !by.includes('tenant');
    limits.push({
      name: nameOf(['rule', kind, name, ...values]),
      label,
      ...limit,
      ...(isShared ? { shared: true } : {}),
    });
  };
  if (concurrency !== null) add('concurrency', concurrency.by, { concurrency: concurrency.limit });
  if (rate !== null) add('rate', rate.by, { rate: { max: rate.max, per_ms: rate.perMs } });
  return limits;
}

/** The key of fairness is none, whatever its name ends with. */
function isSecret(path = ''): boolean {
  return path !== 'fairness_key' && path.split('.').some((name) => isSensitiveKey(name));
}

/** The lowest of several rules applies. */
function fixedPriority(rules: readonly FlowRule[]): { name: string; priority: number } | null {
  let fixing: { name: string; priority: number } | null = null;
  for (const { name, priority } of rules)
    if (priority !== null && (fixing === null || priority < fixing.priority)) fixing = { name, priority };
  return fixing;
}

/**
 * The value at `path`, as text: 42 and "42" are one key. undefined: it is absent, and the rule does not apply. null: it
 * exists and cannot be distinguished: it is encrypted, or no text, number or boolean. All such values share one limit,
 * so that none escapes.
 */
function valueAt(path: string, { directive, tenant, lane }: Subject): string | null | undefined {
  if (path === 'tenant') return tenant;
  if (path === 'lane') return lane;
  let value: unknown = directive;
  for (const name of path.split('.')) {
    if (!isObject(value) || Object.hasOwn(value, ENCRYPTED)) return null;
    if (!Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  if (value === undefined) return undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : null;
}

/** The parts are told apart whatever they hold. */
function nameOf(parts: readonly (string | null)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, NAME_CHARACTERS);
}

function labelOf(text: string): string {
  const clean = text.slice(0, 2 * LABEL_CHARACTERS).replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Cf}]/gu, '');
  if (clean.length <= LABEL_CHARACTERS) return clean;
  return `${clean.slice(0, LABEL_CHARACTERS - 1).replace(/\p{Cs}$/u, '')}…`;
}
