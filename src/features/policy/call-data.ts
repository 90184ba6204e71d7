// A call as the expressions of rules read it: objects are maps, of a bounded size.
// Never shows a part of arguments that are too large: they count as unreadable.
import { serverOf } from '../../store/catalog/route.ts';
import { ownId } from '../../contract/access/tenant.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { RuledCall } from '../../contract/policy/policy.ts';
import { dataFrom, isReadable, type ReadData, type Reads } from '../../platform/expression/data.ts';
import type { Data } from '../../platform/expression/expression.ts';

/** Fields that say how a directive is executed, and not what it does. */
const NOT_ARGUMENTS: ReadonlySet<string> = new Set(['type', 'request_id', 'id', 'metadata']);

/** Facts of a call beside its directive. */
export type CallFacts = Pick<RuledCall, 'models' | 'tenant' | 'caller' | 'agent' | 'at'>;

export function callOf(directive: Directive, lane: string, facts: CallFacts): RuledCall {
  const server = ownId(serverOf(lane) ?? '');
  return {
    ...facts,
    kind: directive.type,
    tool: directive.type === 'tool_exec' ? `${server}.${withoutServer(directive.tool_name, server)}` : '',
    server,
    args: argumentsOf(directive),
    request: directive.request_id,
  };
}

/** A tool has one name in rules, however often a caller has put its server before it. */
function withoutServer(name: string, server: string): string {
  let tool = name;
  while (server !== '' && tool.startsWith(`${server}.`)) tool = tool.slice(server.length + 1);
  return tool;
}

function argumentsOf(directive: Directive): RuledCall['args'] {
  if (encryptedFields(directive).some(({ field }) => field !== 'context')) return null;
  if (directive.type === 'tool_exec') return isObject(directive.arguments) ? directive.arguments : {};
  if (directive.type.startsWith('llm_')) return {};
  return Object.fromEntries(Object.entries(directive).filter(([name]) => !NOT_ARGUMENTS.has(name)));
}

/** Without `args` where they cannot be read, so that an expression that reads them fails. */
export function dataOf(call: RuledCall, model: string): Readonly<Record<string, Data>> {
  const args = call.args === null ? undefined : knownDataOf(call.args).data;
  return {
    kind: call.kind,
    tool: call.tool,
    server: call.server,
    model,
    models: call.models,
    ...(args === undefined ? {} : { args }),
    args_readable: args !== undefined,
    tenant: call.tenant,
    caller: call.caller,
    agent: call.agent,
    request: call.request,
    time: new Date(call.at),
  };
}

/** The call for expressions that read its arguments so often; without them where that takes too long. */
export function readable(call: RuledCall, reads: Reads): RuledCall {
  const isTooMuch = call.args !== null && !isReadable(knownDataOf(call.args), reads);
  // @guard policy-weight
  return isTooMuch ? { ...call, args: null } : call;
}

/** Each call is read several times. */
const maps = new WeakMap<object, ReadData>();

function knownDataOf(args: object): ReadData {
  const known = maps.get(args) ?? dataFrom(args);
  maps.set(args, known);
  return known;
}
