/** Replays the history of a run from its model's script alone: which messages had to come, in which order.
 *  It must never share code with the engine. */
import { answerTo, type Said, type ScriptedCall } from './model-script.ts';
import { type PlannedRun, SYSTEM_PROMPT } from './run-plan.ts';
import type { WireMessage } from './wire.ts';

const OUT_OF_ITERATIONS = 'Maximum iterations reached without a final answer.';

/** A tool call in the history. */
export interface ToldCall {
  readonly call: ScriptedCall;
  /** What the model read of it. */
  readonly content: string;
  readonly isError: boolean;
}

export interface Replay {
  readonly found: readonly string[];
  /** The messages before each of the model's answers; and, last, those that it has not answered. */
  readonly shown: readonly (readonly Said[])[];
  readonly calls: readonly ToldCall[];
  /** User messages after the beginning. */
  readonly inputs: readonly string[];
  /** The text of the last answer, if that is where the history ends. */
  readonly answer: string | null;
  readonly ranOut: boolean;
}

function heardAs({ role, content, tool_calls = [], tool_call_id }: WireMessage): Said {
  const calls = tool_calls.map(({ id, arguments: args }) => ({ id, arguments: args }));
  return { role, text: content ?? '', calls, answers: tool_call_id ?? null };
}

/** Walks through the history after its first messages; each model answer must be its answer to all messages before. */
export function replay(messages: readonly WireMessage[], begun: number): Replay {
  const said: readonly Said[] = [
    { role: 'system', text: SYSTEM_PROMPT, calls: [], answers: null },
    ...messages.map(heardAs),
  ];
  const walk: Walk = { messages, said, at: begun, found: [], shown: [], calls: [], inputs: [], answer: null };
  while (walk.at < messages.length && walk.found.length === 0) {
    const { role, content } = messages[walk.at] ?? { role: 'nobody' };
    if (role === 'user') takeInput(walk, content ?? '');
    else if (role !== 'assistant') walk.found.push(`message ${walk.at} is of ${role}`);
    else if (ranOut(walk)) return { ...walk, ranOut: true };
    else takeAnswer(walk);
  }
  if (walk.answer === null) walk.shown.push(said);
  return { ...walk, ranOut: false };
}

interface Walk {
  readonly messages: readonly WireMessage[];
  readonly said: readonly Said[];
  at: number;
  readonly found: string[];
  readonly shown: (readonly Said[])[];
  readonly calls: ToldCall[];
  readonly inputs: string[];
  answer: string | null;
}

function takeInput(walk: Walk, content: string): void {
  walk.inputs.push(content);
  walk.answer = null;
  walk.at += 1;
}

function ranOut({ messages, at }: Walk): boolean {
  return at === messages.length - 1 && messages[at]?.content === OUT_OF_ITERATIONS;
}

function takeAnswer(walk: Walk): void {
  const { messages, at } = walk;
  const shown = walk.said.slice(0, at + 1);
  const { text, calls } = answerTo(shown);
  walk.shown.push(shown);
  const told = messages[at];
  const toolCalls = calls.map(({ id, tool, arguments: args }) => ({ id, name: tool, arguments: args }));
  const wanted = canonical({
    role: 'assistant',
    content: text,
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  });
  if (canonical(told) !== wanted)
    walk.found.push(`message ${at} is ${canonical(told)}, the model said ${wanted}`);
  walk.at += 1;
  for (const call of calls) takeResult(walk, call);
  walk.answer = calls.length > 0 ? null : text;
}

function takeResult(walk: Walk, call: ScriptedCall): void {
  const {
    role,
    tool_call_id,
    name,
    content,
    is_error = false,
  } = walk.messages[walk.at] ?? { role: 'nobody' };
  if (role !== 'tool' || tool_call_id !== call.id || name !== call.tool)
    walk.found.push(`message ${walk.at} is of ${role} ${name} ${tool_call_id}, not the answer to ${call.id}`);
  walk.calls.push({ call, content: content ?? '', isError: is_error });
  walk.at += 1;
}

/** A tool's answer, as the model reads it. */
export function undisturbedContent({ arguments: args }: ScriptedCall): string {
  const sum = Number(args['a']) + Number(args['b']);
  return JSON.stringify({ ok: true, result: JSON.stringify({ label: args.label, sum }) });
}

/** The whole history of an undisturbed run, computed without the service. */
export function undisturbedHistory({ given }: Pick<PlannedRun, 'given'>): WireMessage[] {
  const messages: WireMessage[] = [...given];
  for (;;) {
    const said = [{ role: 'system', content: SYSTEM_PROMPT }, ...messages].map(heardAs);
    const { text, calls } = answerTo(said);
    if (calls.length === 0) return [...messages, { role: 'assistant', content: text }];
    const toolCalls = calls.map(({ id, tool, arguments: args }) => ({ id, name: tool, arguments: args }));
    messages.push({ role: 'assistant', content: text, tool_calls: toolCalls });
    for (const call of calls) {
      const content = undisturbedContent(call);
      messages.push({ role: 'tool', tool_call_id: call.id, name: call.tool, content });
    }
  }
}

/** What the model reads of a call; nothing if it is not such content. */
export function readContent(content: string): { ok?: boolean; error?: { type?: string } } {
  try {
    return JSON.parse(content) as { ok?: boolean; error?: { type?: string } };
  } catch {
    return {};
  }
}

/** JSON in which the order of members does not count. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : each,
  );
}
