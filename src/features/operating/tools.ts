// The tools that operate the service: each is an operation of the HTTP API, with its schemas, its scopes and its client method.
// Never lets a caller use an operation whose scopes its key has not.
import * as z from 'zod';
import type { Scope } from '../../contract/access/access.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { submittedToolExecSchema } from '../../contract/directive/work-directive.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { PATH_PARAMS } from '../../contract/operations/operation.ts';
import { operation, schemaOf } from '../../contract/operations/operations.ts';
import { type OperationName, type Route, ROUTES } from '../../contract/operations/routes.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';

/** An operation as a tool. */
export interface OperatingTool {
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
  readonly isRead: boolean;
  /** The same call twice has the effect of one. */
  readonly isIdempotent: boolean;
  /** It takes an idempotency key: a repeat finds what the first call started. */
  readonly starts: boolean;
  /** JSON Schema of the arguments, an object. */
  readonly inputSchema: InputSchema;
  /** Resolves with the answer of the service; throws its refusals. */
  call(client: DirectiveClient, args: Args, options: CallOptions): Promise<unknown>;
}

export interface CallOptions {
  readonly idempotencyKey?: string;
}

type Args = Readonly<Record<string, unknown>>;

interface InputSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required: string[];
  readonly additionalProperties: false;
  readonly $defs?: object;
}

interface Row {
  readonly operation: OperationName;
  /** Text for the model before the description of the operation. Default: none. */
  readonly hint?: string;
  /** Members of the content that the tool takes. Default: all. */
  readonly members?: readonly string[];
  readonly isIdempotent?: true;
  /** Default: the client method of this name. */
  readonly call?: Call;
}

type Call = (
  client: DirectiveClient,
  ids: readonly string[],
  content: Args,
  options: CallOptions,
) => Promise<unknown>;

const TOOLS: Readonly<Record<string, Row>> = {
  find_requests: { operation: 'requests', hint: 'Begin here to find what failed or waits.' },
  search: { operation: 'search' },
  read_request: {
    operation: 'request',
    call: async (client, [id = '']) => (await client.request(id)) ?? absent(`request ${id}`),
  },
  read_directive: {
    operation: 'directive',
    hint: 'Its `result` says why it failed.',
    members: [],
    call: async (client, [request = '', id = '']) =>
      (await client.directive(request, id)) ?? absent(`directive ${id} in request ${request}`),
  },
  read_trace: { operation: 'trace' },
  read_signals: {
    operation: 'signals',
    call: async (client, [id = ''], page) => client.page(id, page),
  },
  statistics: { operation: 'stats' },
  list_approvals: { operation: 'approvals', hint: 'What waits for a person.' },
  list_dead_letters: { operation: 'deadLetters' },
  list_agents: { operation: 'agents' },
  list_tools: { operation: 'tools' },
  list_schedules: { operation: 'schedules.list' },
  list_lanes: { operation: 'lanes' },
  start_run: {
    operation: 'runs.start',
    members: ['agent', 'query', 'request_id', 'conversation_id', 'overrides', 'metadata'],
  },
  call_tool: {
    operation: 'submit',
    hint: 'Calls a tool of `list_tools` once; `read_directive` has its result.',
    members: ['tool_name', 'server', 'arguments'],
    call: async (client, _ids, content, options) =>
      client.submit({ ...content, type: 'tool_exec' } as never, options),
  },
  send_input: { operation: 'runs.input' },
  resume_run: { operation: 'runs.resume' },
  run_again: { operation: 'again' },
  fork_run: { operation: 'fork' },
  decide_call: { operation: 'runs.decide', hint: 'Decide only as a person has said.', isIdempotent: true },
  answer_question: { operation: 'answer', isIdempotent: true },
  cancel_request: { operation: 'cancel', isIdempotent: true, call: cancel },
  cancel_directive: { operation: 'cancelDirective', isIdempotent: true, call: cancel },
  reconcile: {
    operation: 'reconcile',
    hint: 'Before a redrive of a call that ended as `outcome_unknown`.',
  },
  redrive: {
    operation: 'redrive',
    hint: 'Name the directives that `list_dead_letters` shows.',
    // Without `all`: an agent says what it means.
    members: ['directives', 'lane', 'error_type', 'since', 'until', 'limit', 'dry_run'],
  },
};

async function cancel(
  client: DirectiveClient,
  [request = '', id]: readonly string[],
  content: Args,
): Promise<unknown> {
  return client.cancel(request, id, content);
}

function absent(what: string): never {
  throw new DirectiveRefused(problem('not_found', { detail: `There is no ${what}.` }));
}

/** Every tool, by name. Made once: the schemas take some milliseconds. */
export function operatingTools(): ReadonlyMap<string, OperatingTool> {
  return new Map(Object.entries(TOOLS).map(([name, row]) => [name, toolOf(name, row)]));
}

function toolOf(name: string, row: Row): OperatingTool {
  const { summary, description, query, headers } = operation(row.operation);
  const { path, scope, also, method }: Route = ROUTES[row.operation];
  if (scope === 'public') throw new TypeError(`${row.operation} asks for no scope`);
  const params = [...path.matchAll(/:(\w+)/g)].map(([, param]) => param as keyof typeof PATH_PARAMS);
  const content = contentOf(row);
  const inputSchema = inputSchemaOf(params, content, row.members);
  const call = row.call ?? methodCall(row.operation);
  const starts = headers !== undefined && 'idempotency-key' in headers.shape;
  const known = [...Object.keys(inputSchema.properties), ...(starts ? ['idempotency_key'] : [])];
  return {
    name,
    description: [row.hint, `${summary}.`, description].filter((text) => text !== undefined).join(' '),
    scopes: also === undefined ? [scope] : [scope, also],
    isRead: method === 'GET',
    isIdempotent: row.isIdempotent ?? method === 'GET',
    starts,
    inputSchema,
    async call(client, args, options) {
      refuseUnknown(args, known);
      const ids = params.map((param) => readInput(PATH_PARAMS[param], args[param], 'invalid_body'));
      const given = Object.fromEntries(
        Object.entries(args).filter(([member]) => !params.includes(member as never)),
      );
      const sent =
        method === 'GET' && query !== undefined ? readInput(query, asText(given), 'invalid_query') : given;
      return call(client, ids, sent as Args, options);
    },
  };
}

/** Calls of tools are one of the bodies of a submission. */
function contentOf({ operation: name }: Row): z.ZodType | null {
  if (name === 'submit') return submittedToolExecSchema;
  const { query, body } = operation(name);
  return body === undefined ? (query ?? null) : schemaOf(body);
}

/** The path parameters in order, the content where there is some, and the options: as the routes call it. */
function methodCall(name: OperationName): Call {
  const [first = '', second] = name.split('.');
  const { content }: Route = ROUTES[name];
  return async (client, ids, sent, options) => {
    const members = client as unknown as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    const owner = second === undefined ? members : members[first];
    const method = owner?.[second ?? first] as ((...given: unknown[]) => Promise<unknown>) | undefined;
    if (method === undefined) throw new TypeError(`The client has no method ${name}`);
    const given = content === undefined ? [...ids] : [...ids, sent, options];
    return method.apply(owner, given);
  };
}

function inputSchemaOf(
  params: readonly (keyof typeof PATH_PARAMS)[],
  content: z.ZodType | null,
  members: readonly string[] | undefined,
): InputSchema {
  const own = content === null ? {} : jsonSchemaOf(content);
  const properties = isObject(own['properties']) ? own['properties'] : {};
  const isTaken = (name: string): boolean => members?.includes(name) ?? true;
  const taken = Object.fromEntries(Object.entries(properties).filter(([name]) => isTaken(name)));
  const required = Array.isArray(own['required']) ? (own['required'] as string[]).filter(isTaken) : [];
  const ofParams = Object.fromEntries(params.map((param) => [param, jsonSchemaOf(PATH_PARAMS[param])]));
  const isShared = JSON.stringify(taken).includes('"#/$defs/');
  return {
    type: 'object',
    properties: { ...ofParams, ...taken } as Record<string, object>,
    required: [...params, ...required],
    additionalProperties: false,
    ...(isShared && isObject(own['$defs']) ? { $defs: own['$defs'] } : {}),
  };
}

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...own } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return own;
}

function refuseUnknown(args: Args, known: readonly string[]): void {
  const unknown = Object.keys(args).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const detail = `The tool has no argument "${unknown.slice(0, 100)}"; it has ${known.join(', ')}.`;
  throw new DirectiveRefused(problem('invalid_body', { detail }));
}

/** Queries are read as text. */
function asText(args: Args): Args {
  const text = ([name, value]: [string, unknown]): [string, unknown] =>
    typeof value === 'number' || typeof value === 'boolean' ? [name, String(value)] : [name, value];
  return Object.fromEntries(Object.entries(args).map(text));
}
