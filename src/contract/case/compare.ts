// The comparison of two recorded requests: turns aligned, the place where they part, and the sums of each.
// Takes time in proportion to the product of the turns, which are at most MOST_ALIGNED of each; later ones are compared by their numbers.
import { canonicalJson } from '../json/canonical-json.ts';
import { isObject, ownMember } from '../json/json-object.ts';
import type { Usage } from '../model/usage.ts';
import type { CaseCall, CaseTurn, RecordedCase } from './case.ts';

const MOST_ALIGNED = 500;

/** First place at which two values differ. A missing member is absent. */
export interface Difference {
  /** Path, as in `turn 2, messages[1].content`. */
  readonly place: string;
  /** Value of the first one. */
  readonly a?: unknown;
  /** Value of the second one. */
  readonly b?: unknown;
}

/** Two calls at the same position of a turn. */
export interface ComparedCall {
  /** Name of the tool. */
  readonly tool: string;
  /** `same`; the first thing that differs; or the side that alone has the call. */
  readonly kind: 'same' | 'arguments' | 'result' | 'only_a' | 'only_b';
  /** Where they differ; null: they do not, or one is absent. */
  readonly difference: Difference | null;
}

/** Tokens and time of one turn. */
export interface TurnSums {
  readonly usage: Usage | null;
  readonly duration_ms: number;
}

/** Two turns that belong together, or one that the other request lacks. */
export interface ComparedTurn {
  /** Number in the first request, from 1; null: it lacks the turn. */
  readonly a: number | null;
  /** Number in the second request, from 1; null: it lacks the turn. */
  readonly b: number | null;
  /** First difference of the prompts: system prompt, tools, messages; null: equal. */
  readonly asked: Difference | null;
  /** First difference of the answers: text and tool calls; null: equal. */
  readonly answered: Difference | null;
  readonly calls: readonly ComparedCall[];
  readonly sums: { readonly a: TurnSums | null; readonly b: TurnSums | null };
  /** Present for a turn before a fork, whose messages the fork took over: it belongs to both. */
  readonly taken_over?: true;
}

/** Sums of one request. */
export interface CaseSums {
  readonly request_id: string;
  readonly status: string | null;
  readonly termination_reason: string | null;
  readonly turns: number;
  readonly calls: number;
  readonly tokens: number;
  /** In USD; null: unknown. */
  readonly cost: number | null;
  /** In milliseconds; null: unknown. */
  readonly duration_ms: number | null;
}

/** Comparison of two requests. */
export interface CaseComparison {
  /** Where they part first; null: they made the same calls with the same answers, and ended in the same way. */
  readonly parted: Difference | null;
  readonly same_calls: boolean;
  /** Whether status and termination reason are equal. */
  readonly same_end: boolean;
  /** Whether the results are equal. */
  readonly same_result: boolean;
  readonly turns: readonly ComparedTurn[];
  readonly a: CaseSums;
  readonly b: CaseSums;
}

/**
 * Compares two recorded requests. Calls of a turn are compared as a set: their order says nothing. A fork begins at the turn of its
 * original that it was forked at.
 */
export function compareCases(a: RecordedCase, b: RecordedCase): CaseComparison {
  const before = takenOver(a, b);
  const turns = [
    ...before.map(([left, right]) => ({ ...comparedTurn(a, b, left, right), taken_over: true as const })),
    ...alignedAfter(a, b, before).map(([left, right]) => comparedTurn(a, b, left, right)),
  ];
  const [endA, endB] = [endOf(a), endOf(b)];
  const end = firstDifference(endA, endB, 'end');
  return {
    parted: turns.map(partOf).find((part) => part !== null) ?? end,
    same_calls: turns.every(
      (turn) => turn.taken_over === true || (isPair(turn) && turn.calls.every(isSameCall)),
    ),
    same_end: end === null || end.place.startsWith('end.result') || end.place.startsWith('end.error'),
    same_result: firstDifference(endA?.result, endB?.result, '') === null,
    turns,
    a: sumsOf(a),
    b: sumsOf(b),
  };
}

const isPair = ({ a, b }: Pick<ComparedTurn, 'a' | 'b'>): boolean => a !== null && b !== null;
const isSameCall = ({ kind }: ComparedCall): boolean => kind === 'same' || kind === 'result';

function endOf({ head: { end } }: RecordedCase) {
  if (end === null) return null;
  const { status, termination_reason, result, error } = end;
  return { status, termination_reason, result, error };
}

function sumsOf({ head: { request_id, end }, turns }: RecordedCase): CaseSums {
  const each = turns.map(turnSums);
  const tokens = each.reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
  return {
    request_id,
    status: end?.status ?? null,
    termination_reason: end?.termination_reason ?? null,
    turns: turns.filter(({ model }) => model !== null).length,
    calls: turns.reduce((sum, { calls }) => sum + calls.length, 0),
    tokens: end?.usage.total_tokens ?? tokens,
    cost: end?.cost ?? null,
    duration_ms: end?.duration_ms ?? null,
  };
}

function turnSums({ model, calls }: CaseTurn): TurnSums {
  const longest = Math.max(0, ...calls.map(({ duration_ms }) => duration_ms));
  return { usage: model?.usage ?? null, duration_ms: (model?.duration_ms ?? 0) + longest };
}

/** Where a pair of turns parts: a turn that one lacks, another answer, another call, another result. */
function partOf(turn: ComparedTurn): Difference | null {
  const { a, b, asked, answered, calls } = turn;
  if (turn.taken_over === true) return null;
  if (a === null) return { place: `turn ${b}`, b: 'a turn that the first one does not have' };
  if (b === null) return { place: `turn ${a}`, a: 'a turn that the second one does not have' };
  const call = calls.find(({ kind }) => kind !== 'same');
  return asked ?? answered ?? (call === undefined ? null : (call.difference ?? lone(call, a)));
}

function lone({ tool, kind }: ComparedCall, turn: number): Difference {
  return { place: `turn ${turn}, call ${tool}`, [kind === 'only_a' ? 'a' : 'b']: 'called' };
}

function comparedTurn(
  a: RecordedCase,
  b: RecordedCase,
  left: number | null,
  right: number | null,
): ComparedTurn {
  const turnA = left === null ? null : (a.turns[left] ?? null);
  const turnB = right === null ? null : (b.turns[right] ?? null);
  const isBoth = turnA !== null && turnB !== null;
  const place = `turn ${(left ?? right ?? 0) + 1}`;
  return {
    a: left === null ? null : left + 1,
    b: right === null ? null : right + 1,
    asked: isBoth ? firstDifference(askedOf(turnA), askedOf(turnB), `${place}, `) : null,
    answered: isBoth ? firstDifference(answerOf(turnA), answerOf(turnB), `${place}, answer`) : null,
    calls: comparedCalls(turnA?.calls ?? [], turnB?.calls ?? [], place),
    sums: { a: turnA && turnSums(turnA), b: turnB && turnSums(turnB) },
  };
}

function askedOf({ model }: CaseTurn) {
  if (model === null) return null;
  const messages = model.messages.map((message) => withoutIds(message));
  return { system_prompt: model.system_prompt, tools: model.tools.toSorted(), messages };
}

/** Ids of calls and the data of providers are other ones in each run. */
const VOLATILE: ReadonlySet<string> = new Set(['id', 'tool_call_id', 'provider_data']);

function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([name]) => !VOLATILE.has(name));
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === 'arguments' ? member : withoutIds(member)]),
  );
}

/** Text and tool calls of an answer, or its error. */
function answerOf({ model }: CaseTurn): unknown {
  if (model === null) return null;
  const { answer } = model;
  if (!answer.ok) return { error: { type: answer.error.type, message: answer.error.message } };
  const turn = isObject(answer.payload) ? answer.payload : {};
  return { text: turn['text'], tool_calls: withoutIds(turn['tool_calls'] ?? []) };
}

function comparedCalls(a: readonly CaseCall[], b: readonly CaseCall[], place: string): ComparedCall[] {
  const left = [...b];
  const taken = (fits: (call: CaseCall) => boolean): CaseCall | undefined => {
    const at = left.findIndex(fits);
    return at === -1 ? undefined : left.splice(at, 1)[0];
  };
  const keyed = a.map((call) => ({ call, key: canonicalJson(call.arguments) }));
  // Equal calls first, so that they are not taken as changed ones.
  const equals = keyed.map(({ call, key }) =>
    taken((other) => other.tool === call.tool && canonicalJson(other.arguments) === key),
  );
  const pairs = keyed.map(({ call }, at) => ({
    call,
    other: equals[at] ?? taken(({ tool }) => tool === call.tool),
  }));
  return [
    ...pairs.map(({ call, other }) => comparedCall(call, other, `${place}, call ${call.tool}`)),
    ...left.map(({ tool }): ComparedCall => ({ tool, kind: 'only_b', difference: null })),
  ];
}

function comparedCall(a: CaseCall, b: CaseCall | undefined, place: string): ComparedCall {
  const { tool } = a;
  if (b === undefined) return { tool, kind: 'only_a', difference: null };
  const otherArguments = firstDifference(a.arguments, b.arguments, `${place}, arguments`);
  if (otherArguments !== null) return { tool, kind: 'arguments', difference: otherArguments };
  const otherResult = firstDifference(a.answer, b.answer, `${place}, result`);
  return { tool, kind: otherResult === null ? 'same' : 'result', difference: otherResult };
}

type Pair = readonly [a: number | null, b: number | null];

/** Turns before a fork: those of its original, or those by which one of two forks of the same run began later. */
function takenOver(a: RecordedCase, b: RecordedCase): Pair[] {
  const [placeA, placeB] = [placeOf(a.head), placeOf(b.head)];
  if (placeA.requestId !== placeB.requestId) return [];
  const [first, last] = [placeA.turn, placeB.turn].toSorted((left, right) => left - right) as [
    number,
    number,
  ];
  if (first === last) return [];
  const isOfA = placeA.turn === first;
  const { turns } = isOfA ? a : b;
  // Further model calls, as of a summary, are no turns of the run.
  const named = turns.findIndex(({ model }) => model?.id === `model-${last - first + 1}`);
  const count = named >= 0 ? named : Math.min(last - first, turns.length);
  return Array.from({ length: count }, (_, at): Pair => (isOfA ? [at, null] : [null, at]));
}

/** The run that the turns of a request count in, and the turn of it that the request begins with. */
function placeOf({ request_id: requestId, origin }: RecordedCase['head']): {
  readonly requestId: string;
  readonly turn: number;
} {
  return origin?.kind === 'fork'
    ? { requestId: origin.request_id, turn: origin.turn ?? 1 }
    : { requestId, turn: 1 };
}

function alignedAfter(a: RecordedCase, b: RecordedCase, before: readonly Pair[]): Pair[] {
  const [fromA, fromB] = [0, 1].map((side) => before.filter((pair) => pair[side] !== null).length) as [
    number,
    number,
  ];
  const [restA, restB] = [a.turns.slice(fromA), b.turns.slice(fromB)];
  const isFork = before.length > 0 && restA.length > 0 && restB.length > 0;
  // The turn of a fork is that of its original, whatever the two have called.
  const pairs: Pair[] = isFork
    ? [[0, 0], ...aligned(restA.slice(1), restB.slice(1)).map((pair) => moved(pair, 1, 1))]
    : aligned(restA, restB);
  return pairs.map((pair) => moved(pair, fromA, fromB));
}

function moved([a, b]: Pair, byA: number, byB: number): Pair {
  return [a === null ? null : a + byA, b === null ? null : b + byB];
}

/** Turns that belong together: the longest common sequence of turns that called the same tools. */
function aligned(a: readonly CaseTurn[], b: readonly CaseTurn[]): Pair[] {
  const [left, right] = [a, b].map((turns) => turns.slice(0, MOST_ALIGNED).map(signatureOf)) as [
    string[],
    string[],
  ];
  const lengths = commonLengths(left, right);
  const pairs: Pair[] = [];
  let [at, to] = [0, 0];
  while (at < left.length && to < right.length) {
    const isSame = left[at] === right[to];
    const [skipA, skipB] = [lengths[at + 1]?.[to] ?? 0, lengths[at]?.[to + 1] ?? 0];
    // Turns that differ on both sides are one changed turn.
    const isChanged = !isSame && skipA === skipB && skipA === (lengths[at + 1]?.[to + 1] ?? 0);
    if (isSame || isChanged) pairs.push([at++, to++]);
    else if (skipA >= skipB) pairs.push([at++, null]);
    else pairs.push([null, to++]);
  }
  while (at < left.length) pairs.push([at++, null]);
  while (to < right.length) pairs.push([null, to++]);
  const longer = Math.max(a.length, b.length);
  for (let index = MOST_ALIGNED; index < longer; index += 1)
    pairs.push([index < a.length ? index : null, index < b.length ? index : null]);
  return pairs;
}

function signatureOf({ calls }: CaseTurn): string {
  return calls
    .map(({ tool }) => tool)
    .toSorted()
    .join('\n');
}

/** Length of the longest common sequence from each pair of places on. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let at = a.length - 1; at >= 0; at -= 1) {
    const [row, below] = [rows[at], rows[at + 1]];
    if (row === undefined || below === undefined) continue;
    for (let to = b.length - 1; to >= 0; to -= 1)
      row[to] = a[at] === b[to] ? (below[to + 1] ?? 0) + 1 : Math.max(below[to] ?? 0, row[to + 1] ?? 0);
  }
  return rows;
}

/** First place, in the order of the names, at which two JSON values differ; null: they are equal. */
export function firstDifference(a: unknown, b: unknown, place: string): Difference | null {
  if (Object.is(a, b)) return null;
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
      const found = memberDifference(a[at], b[at], `${place}[${at}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(a) || !isObject(b)) return memberDifference(a, b, place, true);
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const at = place === '' || place.endsWith(', ') ? `${place}${name}` : `${place}.${name}`;
    const found = memberDifference(ownMember(a, name), ownMember(b, name), at);
    if (found !== null) return found;
  }
  return null;
}

function memberDifference(a: unknown, b: unknown, place: string, isLeaf = false): Difference | null {
  if (!isLeaf && typeof a === 'object' && typeof b === 'object' && a !== null && b !== null)
    return Array.isArray(a) === Array.isArray(b) ? firstDifference(a, b, place) : { place, a, b };
  if (Object.is(a, b)) return null;
  return { place, ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
}
