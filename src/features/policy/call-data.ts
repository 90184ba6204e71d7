// A call as the expressions of rules read it: objects are maps, of a bounded size.
// Never shows a part of arguments that are too large: they count as unreadable.
import { serverOf } from '../../store/catalog/route.ts';
import { ownId } from '../../contract/access/tenant.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { RuledCall } from '../../contract/policy/policy.ts';
import type { Data } from '../../platform/expression/expression.ts';

/** Values, and characters of texts and names, of arguments that rules can read. */
const MOST_VALUES = 2_000;
const MOST_CHARACTERS = 262_144;
/** Values times both, where a loop reads the arguments in each round: some 50 ms. */
const MOST_REPEATED = 2_000_000;
const DEEPEST = 32;

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

/** Without `args` where they cannot be read, so that an expression that reads them fails. `repeats`: as of the expression. */
export function dataOf(call: RuledCall, model: string, repeats = false): Readonly<Record<string, Data>> {
  const known = call.args === null ? UNREADABLE : knownMapOf(call.args);
  const args = repeats && known.product > MOST_REPEATED ? null : known.args;
  return {
    kind: call.kind,
    tool: call.tool,
    server: call.server,
    model,
    models: call.models,
    ...(args === null ? {} : { args }),
    args_readable: args !== null,
    tenant: call.tenant,
    caller: call.caller,
    agent: call.agent,
    request: call.request,
    time: new Date(call.at),
  };
}

interface ReadArguments {
  /** null: too large, or encrypted. */
  readonly args: Data | null;
  /** Values times values and characters. */
  readonly product: number;
}

const UNREADABLE: ReadArguments = { args: null, product: 0 };

/** Each call is read several times. */
const maps = new WeakMap<object, ReadArguments>();

function knownMapOf(args: object): ReadArguments {
  const known = maps.get(args) ?? mapOf(args);
  maps.set(args, known);
  return known;
}

function mapOf(args: object): ReadArguments {
  const left = { values: MOST_VALUES, characters: MOST_CHARACTERS };

  function converted(value: unknown, depth: number): Data {
    left.values -= 1;
    if (typeof value === 'string') left.characters -= value.length;
    if (left.values < 0 || left.characters < 0 || depth > DEEPEST) throw TOO_LARGE;
    if (Array.isArray(value)) return (value as unknown[]).map((each) => converted(each, depth + 1));
    if (!isObject(value)) return value as Data;
    const map = new Map<string, Data>();
    for (const name of Object.keys(value)) {
      left.characters -= name.length;
      map.set(name, converted((value as Record<string, unknown>)[name], depth + 1));
    }
    return map;
  }

  try {
    const map = converted(args, 0);
    const values = MOST_VALUES - left.values;
    return { args: map, product: values * (values + MOST_CHARACTERS - left.characters) };
  } catch (error) {
    if (error === TOO_LARGE) return UNREADABLE;
    throw error;
  }
}

const TOO_LARGE = new RangeError('the arguments are too large for rules');
