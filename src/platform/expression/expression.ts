// Expressions of the configuration, in CEL: compiled once, evaluated in bounded time over data that callers send.
// Never reads a member that the data does not own, nor calls a function whose cost an input decides.
//
// CEL and not Cedar: rules compute ("sum + args.amount > 5000"), and Cedar has neither sums of decimals nor a way to say "ask". Seven rules
// take 2 µs at the median with `@marcbachmann/cel-js`, 6 µs with `@bufbuild/cel` (ten times its size), and 45 µs with pre-parsed Cedar in
// WebAssembly, which reads its whole input as JSON. What a library of CEL does not bound, the list of functions below does.
import { type ASTNode, Environment, type ParseResult } from '@marcbachmann/cel-js';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

/** Data of an expression: JSON whose objects are maps, so that no name means a member of a prototype. */
export type Data = null | boolean | number | string | Date | readonly Data[] | ReadonlyMap<string, Data>;

/** Types of variables, by name. */
export type Variables = Readonly<Record<string, VariableType>>;

type VariableType =
  | 'bool'
  | 'string'
  | 'list<string>'
  | 'map<string, double>'
  | 'google.protobuf.Timestamp'
  | 'dyn';

export interface Expression {
  /** Throws what the evaluation throws: a member that is not there, types that do not fit, a variable without a value. */
  evaluate(data: Readonly<Record<string, Data>>): unknown;
  /** Paths that it reads, such as `args.amount`, outermost first. */
  readonly reads: readonly string[];
  /** Whether a loop reads a variable of any size (`dyn`) in each of its rounds: its cost is a product. */
  readonly repeats: boolean;
  /** Bound of its time, in operations and in rounds of loops over the lists that it names. */
  readonly cost: Cost;
}

export interface Cost {
  /** Operators and calls, in a loop as often as a list of the text or a list of names has members. */
  readonly operations: number;
  /** Those of them that may go through a whole value; after a `+` the value may be twice as large. */
  readonly reads: number;
}

/** Why a text is no expression. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault';
}

const LONGEST_TEXT = 2_048;
const LONGEST_FAULT = 200;
/** A search takes the product of both lengths at worst: one for 65,000 characters in 130,000 takes 0.5 s. */
const LONGEST_SOUGHT = 128;

/** Functions in time that grows with one value at most. `matches` runs regular expressions that backtrack; `join` and `map` build lists. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'has size startsWith endsWith contains like lowerAscii upperAscii trim int uint double string bool dyn type timestamp duration ' +
    'all exists exists_one getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds'
  ).split(' '),
);

const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one']);

const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** Numbers of JSON are doubles, and those of an expression are often whole: they compute with each other. */
function environmentOf(variables: Variables): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 500, maxDepth: 32 },
  });
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  for (const [operator, compute] of Object.entries(ARITHMETIC)) {
    const mixed = (left: unknown, right: unknown): number => compute(Number(left), Number(right));
    environment.registerOperator(`double ${operator} int`, mixed);
    environment.registerOperator(`int ${operator} double`, mixed);
  }
  environment.registerFunction('string.like(string): bool', (text: string, pattern: string) => {
    if (pattern.length > LONGEST_SOUGHT)
      throw new Error(`a pattern is longer than ${LONGEST_SOUGHT} characters`);
    return toolMatches(pattern, text);
  });
  return environment;
}

/** Faults whose sentence ends with a value: it is repeated only if the expression itself has it. */
const WITH_VALUE = /^(No such key|bool\(\) conversion error): (?!index out of bounds)(.*)$/s;

/** A fault of an evaluation: names a path or types, and no value of the data. */
export function evaluationFault(error: unknown): string {
  const { summary, code, node } = Object(error) as {
    summary?: string;
    code?: string;
    node?: { input?: unknown };
  };
  const sentence = summary ?? code ?? 'it could not be evaluated';
  const [, fault, value = ''] = WITH_VALUE.exec(sentence) ?? [];
  const isOfData = fault !== undefined && !namesIn(node?.input).has(value);
  return (isOfData ? fault : sentence).slice(0, LONGEST_FAULT);
}

/** Names and texts of an expression. */
function namesIn(text: unknown): ReadonlySet<string> {
  return new Set(typeof text === 'string' ? text.match(/[\w-]+/g) : []);
}

/** Compiler of expressions over these variables. It throws `ExpressionFault`. */
export function createCompiler(
  variables: Variables,
): (text: string, result: 'bool' | 'double' | 'any') => Expression {
  const environment = environmentOf(variables);
  return (text, result) => {
    if (text.length > LONGEST_TEXT) throw new ExpressionFault(`is longer than ${LONGEST_TEXT} characters`);
    const parsed = parse(environment, text);
    const reads = new Set<string>();
    const inLoops = new Set<string>();
    examine(parsed.ast, { reads, inLoops, inLoop: false, short: shortTexts(variables) });
    const checked = parsed.check();
    if (!checked.valid) throw new ExpressionFault(sentenceOf(checked.error));
    const type = String(checked.type);
    const fits =
      result === 'any' || type === 'dyn' || type === result || (result === 'double' && type === 'int');
    if (!fits) throw new ExpressionFault(`gives a ${type}, and must give a ${result}`);
    const known = [...reads].filter((path) => Object.hasOwn(variables, path.split('.', 1)[0] ?? ''));
    const repeats = [...inLoops].some((path) => variables[path.split('.', 1)[0] ?? ''] === 'dyn');
    const cost = costOf(parsed.ast, variables);
    return { evaluate: (data) => parsed(data) as unknown, reads: known, repeats, cost };
  };
}

function parse(environment: Environment, text: string): ParseResult {
  try {
    return environment.parse(text);
  } catch (error) {
    throw new ExpressionFault(sentenceOf(error));
  }
}

/** The place is a column of the text, from 1. */
function sentenceOf(error: unknown): string {
  const { summary, message, range } = Object(error) as {
    summary?: string;
    message?: string;
    range?: { start: number };
  };
  const place = range === undefined ? '' : ` at character ${range.start + 1}`;
  return `is no expression: ${summary ?? message ?? 'unknown fault'}${place}`;
}

interface Examined {
  readonly reads: Set<string>;
  /** Paths that are read in each round of a loop. */
  readonly inLoops: Set<string>;
  readonly inLoop: boolean;
  /** Names whose values are short texts. */
  readonly short: ReadonlySet<string>;
}

function shortTexts(variables: Variables): ReadonlySet<string> {
  return new Set(Object.entries(variables).flatMap(([name, type]) => (type === 'string' ? [name] : [])));
}

/** Refuses what is not bounded, and notes the paths that are read. */
function examine(node: ASTNode, seen: Examined): void {
  const path = pathOf(node);
  if (path !== null) seen.reads.add(path);
  if (path !== null && seen.inLoop) seen.inLoops.add(path);
  const called = calledBy(node);
  if (called !== null && !FUNCTIONS.has(called))
    throw new ExpressionFault(
      `calls ${called}(), which expressions may not: they have ${[...FUNCTIONS].join(', ')}`,
    );
  // @guard expression-search
  if (called === 'contains') requireShort(nodesIn(node.args)[1], seen.short);
  if (called === 'duration') requireDuration(nodesIn(node.args)[0]);
  const isLoop = called !== null && LOOPS.has(called);
  if (isLoop && seen.inLoop) throw new ExpressionFault(`has ${called}() within another loop over a list`);
  if (path !== null) return;
  // The list of a loop is read once, its body in each round.
  const [list, ...body] = isLoop ? nodesIn((node.args as readonly unknown[]).slice(1)) : [];
  const short = new Set(seen.short);
  const name = body[0] === undefined ? null : pathOf(body[0]);
  if (list !== undefined && name !== null) {
    const isShort = list.op === 'list' && nodesIn(list.args).every(isShortText);
    if (isShort) short.add(name);
    else short.delete(name);
  }
  for (const inner of nodesIn(node.args))
    examine(inner, body.includes(inner) ? { ...seen, inLoop: true, short } : seen);
}

function isShortText({ op, args }: ASTNode): boolean {
  return op === 'value' && typeof args === 'string' && args.length <= LONGEST_SOUGHT;
}

function requireShort(sought: ASTNode | undefined, short: ReadonlySet<string>): void {
  if (sought === undefined || isShortText(sought)) return;
  if (sought.op === 'id' && short.has(String(sought.args))) return;
  throw new ExpressionFault(
    `calls contains() with another argument than a text of at most ${LONGEST_SOUGHT} characters; like() takes any`,
  );
}

/** Its parser takes the cube of the digits before a missing unit: 2,000 of them take 2 s, and a rule reads 262,144 characters. */
const DURATION = /^[+-]?(?:\d{1,12}(?:\.\d{1,9})?(?:ns|us|ms|s|m|h)){1,6}$/;

function requireDuration(text: ASTNode | undefined): void {
  if (text?.op === 'value' && typeof text.args === 'string' && DURATION.test(text.args)) return;
  throw new ExpressionFault('calls duration() with another argument than a text such as "1h30m"');
}

/** Operators and names that do nothing of their own. */
const FREE: ReadonlySet<string> = new Set(['value', 'id', '.', '[]', 'list', 'map']);
/** Functions that read the beginning or the end of a text, or no text. */
const SHORT = /^(has|startsWith|endsWith|type|dyn|duration|get.*)$/;
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
/** Whether it names a variable of any size, or that of a loop. */
function namesData(node: ASTNode, variables: Variables): boolean {
  const type = node.op === 'id' ? (variables[String(node.args)] ?? 'dyn') : null;
  return type === 'dyn' || nodesIn(node.args).some((inner) => namesData(inner, variables));
}

/** Most members of a list of names that the service makes. */
const NAMES = 16;

function costOf(ast: ASTNode, variables: Variables): Cost {
  let operations = 0;
  let reads = 0;
  let additions = 0;

  function add(node: ASTNode, rounds: number, inData: boolean): void {
    const called = calledBy(node);
    const inner = nodesIn(node.args);
    if (!FREE.has(node.op)) {
      operations += rounds;
      const adds = node.op === '+';
      if (adds) additions += 1;
      const compares = COMPARISONS.has(node.op) && inner.every(({ op }) => op !== 'value' && op !== 'list');
      const mayRead = adds || compares || (called !== null && !SHORT.test(called));
      if (inData || (mayRead && namesData(node, variables))) reads += rounds;
    }
    const list =
      called !== null && LOOPS.has(called) ? ((node.args as readonly unknown[])[1] as ASTNode) : null;
    const type = list === null ? undefined : variables[pathOf(list) ?? ''];
    const members =
      list?.op === 'list' ? (list.args as readonly unknown[]).length : type === 'list<string>' ? NAMES : 1;
    for (const each of inner)
      if (list === null || each === list) add(each, rounds, inData);
      else add(each, rounds * members, inData || (list.op !== 'list' && type === undefined));
  }

  add(ast, 1, false);
  return { operations, reads: reads * (1 + additions) };
}

function calledBy({ op, args }: ASTNode): string | null {
  return op === 'call' || op === 'rcall' ? String((args as readonly unknown[])[0]) : null;
}

/** `args.amount`, `args["amount"]` and `args.items[0].n`; null: it is no path of fixed names. */
function pathOf({ op, args }: ASTNode): string | null {
  if (op === 'id') return String(args);
  if (op !== '.' && op !== '[]') return null;
  const [of, member] = args as readonly [ASTNode, ASTNode | string];
  const before = pathOf(of);
  if (before === null) return null;
  if (typeof member === 'string') return `${before}.${member}`;
  return member.op === 'value' ? `${before}.${String(member.args)}` : null;
}

function nodesIn(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return typeof args === 'object' && args !== null && 'op' in args ? [args as ASTNode] : [];
}
