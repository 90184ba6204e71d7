/** The promises about one model call: its words once and in order, the answer to this very conversation, what it cost, whose
 *  turn it was. It must never share code with what folds, counts or resolves in the service. */
import { type Case, during, ENDS_AN_ATTEMPT } from './directive-case.ts';
import type { ScriptedTurn } from './model-script.ts';
import type { PlannedModel } from './model-plan.ts';
import type { WireError, WireSignal } from './wire.ts';

/** A model that asks for a pause asks for one second. */
const PATIENCE_MS = 1_500;

interface ModelCase extends Case {
  readonly model: PlannedModel;
}

export function checkModelCall(all: Case): string[] {
  const { model } = all.planned;
  if (model === null)
    return all.signals.some(({ type }) => type === 'ai.llm.delta') ? ['a tool with words'] : [];
  const rules = [checkTerminal, checkConversation, checkWords, checkUsage, checkStages, checkPayload];
  return rules.flatMap((rule) => rule({ ...all, model }));
}

/** The signal that answers this kind, and that kind of end. */
function checkTerminal({ planned, model, terminal, result }: ModelCase): string[] {
  const wanted = model.vectors === null ? 'ai.llm.response' : 'ai.embed.result';
  if (terminal.type !== wanted || result === null) return [`ended in ${terminal.type}`];
  const fails = ['model_failure', 'unknown_model', 'hostile'].includes(planned.expect);
  return fails && result.ok ? ['succeeded'] : [];
}

/** The model saw what was planned, and no model outside the chain was called. */
function checkConversation({ model, executions }: ModelCase): string[] {
  const strange = executions.filter(({ key, tool, fault }) => {
    const inChain = model.chain.some((name) => name.endsWith(`:${tool}`));
    return key !== model.digest || fault === 'unoffered' || !inChain;
  });
  return strange.map(
    ({ tool, key, fault }) => `${tool} was asked ${key} (${fault}), planned ${model.digest}`,
  );
}

interface Words {
  readonly text: string;
  readonly calls: readonly { id: string; name: string; text: string }[];
}

/** All pieces of one attempt, joined; sentences where they do not join. */
function joined(deltas: readonly WireSignal[], attempt: number): { words: Words; found: string[] } {
  const calls: { id: string; name: string; text: string }[] = [];
  const found: string[] = [];
  let text = '';
  for (const [place, { data }] of deltas.entries()) {
    if (data['seq'] !== place)
      found.push(`delta ${place} of attempt ${attempt} has the seq ${String(data['seq'])}`);
    if (data['chunk_type'] === 'content') text += String(data['delta']);
    else if (data['chunk_type'] === 'tool_call') join(calls, data['delta'] as Piece);
    else found.push(`a delta of ${String(data['chunk_type'])}`);
  }
  return { words: { text, calls }, found };
}

interface Piece {
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

function join(calls: { id: string; name: string; text: string }[], piece: Piece): void {
  const call = (calls[piece.index] ??= { id: '', name: '', text: '' });
  call.id ||= piece.id ?? '';
  call.name ||= piece.name ?? '';
  call.text += piece.arguments ?? '';
}

/** Each attempt wrote the beginning of the answer, the successful one all of it. */
function checkWords({ model, signals, result, terminal }: ModelCase): string[] {
  const deltas = signals.filter(({ type }) => type === 'ai.llm.delta');
  if (!model.streams)
    return deltas.length > 0 ? [`${deltas.length} deltas of a call that does not stream`] : [];
  const found: string[] = [];
  const attempts = new Set(deltas.map(({ attempt }) => attempt ?? 0));
  if (attempts.has(0)) found.push('a delta without an attempt');
  for (const attempt of attempts) {
    const { words, found: faults } = joined(
      deltas.filter((delta) => (delta.attempt ?? 0) === attempt),
      attempt,
    );
    found.push(...faults);
    if (!isBeginning(words, model.turn))
      found.push(`attempt ${attempt} said ${JSON.stringify(words).slice(-300)}`);
    if (result?.ok && attempt === terminal.attempt && !isWhole(words, model.turn))
      found.push(`attempt ${attempt} succeeded and said only ${JSON.stringify(words).slice(-300)}`);
  }
  if (result?.ok && !attempts.has(terminal.attempt ?? 0))
    found.push('the attempt that succeeded said nothing');
  return found;
}

function isBeginning({ text, calls }: Words, turn: ScriptedTurn): boolean {
  const callsBegin = calls.every((call, index) => {
    const wanted = turn.calls[index];
    return wanted !== undefined && JSON.stringify(wanted.arguments).startsWith(call.text);
  });
  return turn.text.startsWith(text) && callsBegin;
}

function isWhole({ text, calls }: Words, turn: ScriptedTurn): boolean {
  const said = calls.map((call) => [call.id, call.name, call.text]);
  const wanted = turn.calls.map(({ id, tool, arguments: args }) => [id, tool, JSON.stringify(args)]);
  return text === turn.text && JSON.stringify(said) === JSON.stringify(wanted);
}

/** Directly before the answer and nowhere else; never for a failure. */
function checkUsage({ model, signals, result, terminal }: ModelCase): string[] {
  const reports = signals.filter(({ type }) => type === 'ai.usage');
  if (result === null || !result.ok) return reports.length > 0 ? ['usage of a failure'] : [];
  const [report] = reports;
  if (reports.length !== 1 || report === undefined) return [`${reports.length} reports of usage`];
  const found: string[] = [];
  if (report.sequence !== terminal.sequence - 1) found.push('its usage is not directly before its end');
  for (const [name, tokens] of Object.entries(model.usage)) {
    if (report.data[name] !== tokens)
      found.push(`${name} are ${String(report.data[name])}, the model said ${tokens}`);
  }
  return found;
}

interface Fallback {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** The models follow the order of the chain, each with its own retries, used up where retrying was due. */
function checkStages({ planned, model, signals, result }: ModelCase): string[] {
  const found: string[] = [];
  let stage = 0;
  let retries = 0;
  for (const { data } of signals.filter(({ type }) => type === 'directive.retry_scheduled')) {
    const fallback = data.metadata?.['fallback'] as Fallback | undefined;
    if (fallback === undefined) retries += 1;
    if (retries > planned.maxRetries) found.push(`${retries} retries of ${model.chain[stage]}`);
    if (fallback === undefined) continue;
    if (fallback.from !== model.chain[stage] || fallback.to !== model.chain[stage + 1])
      found.push(`went on from ${fallback.from} to ${fallback.to}, the chain is ${model.chain.join(', ')}`);
    if (fallback.reason === 'provider_error' && retries < planned.maxRetries)
      found.push(`gave up ${fallback.from} after ${retries} retries of ${planned.maxRetries}`);
    stage += 1;
    retries = 0;
  }
  if (result?.ok === false) found.push(...checkGivenUp(result.error, { retries, stage, planned, model }));
  if (result?.ok !== true) return found;
  const answered = (result.payload as { model?: string }).model;
  if (!model.chain[stage]?.endsWith(`:${answered}`))
    found.push(`${answered} answered, it was the turn of ${model.chain[stage]}`);
  return found;
}

const WORTH_ANOTHER_TRY: ReadonlySet<string> = new Set(['provider_error', 'network', 'timeout']);

/** An error that a retry may fix ends a call only when all attempts of all models, or the time, are used up. */
function checkGivenUp(
  { type, details }: WireError,
  {
    retries,
    stage,
    planned,
    model,
  }: Pick<ModelCase, 'planned' | 'model'> & { retries: number; stage: number },
): string[] {
  if (!WORTH_ANOTHER_TRY.has(type) || details['not_retried'] !== undefined) return [];
  const found: string[] = [];
  if (retries < planned.maxRetries)
    found.push(`ended as ${type} after ${retries} retries of ${planned.maxRetries}`);
  if (stage < model.chain.length - 1)
    found.push(`ended as ${type}, and ${model.chain[stage + 1]} was not asked`);
  return found;
}

function checkPayload({ model, result }: ModelCase): string[] {
  if (result?.ok !== true) return [];
  const payload = result.payload as Readonly<Record<string, unknown>>;
  const [said, wanted] =
    model.vectors === null
      ? [turnIn(payload), turnWanted(model.turn)]
      : [vectorsIn(payload), [model.vectors, model.vectors.length, model.vectors[0]?.length]];
  if (JSON.stringify(said) === JSON.stringify(wanted)) return [];
  return [`answered ${JSON.stringify(said).slice(0, 600)}, expected ${JSON.stringify(wanted).slice(0, 600)}`];
}

type CallInTurn = Readonly<Record<'id' | 'name' | 'arguments', unknown>>;

function turnIn({ type, text, tool_calls }: Readonly<Record<string, unknown>>): unknown {
  const calls = Array.isArray(tool_calls) ? (tool_calls as CallInTurn[]) : [];
  return [type, text, calls.map((call) => [call.id, call.name, call.arguments])];
}

function turnWanted({ text, calls }: ScriptedTurn): unknown {
  const type = calls.length > 0 ? 'tool_calls' : 'final_answer';
  return [type, text, calls.map((call) => [call.id, call.tool, call.arguments])];
}

function vectorsIn({ embeddings, count, dimensions }: Readonly<Record<string, unknown>>): unknown {
  const vectors = (Array.isArray(embeddings) ? embeddings : []).map((vector: unknown) =>
    typeof vector === 'string' ? floatsOf(vector) : vector,
  );
  return [vectors, count, dimensions];
}

function floatsOf(encoded: string): number[] {
  const bytes = Buffer.from(encoded, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** Whether something is known that ends a model call in an error of this type; null: the rules of all directives say it. */
export function modelErrorIsExplained(all: Case, type: string): boolean | null {
  const { planned, executions, view, terminal } = all;
  if (planned.model === null) return null;
  const did = (...faults: string[]): boolean => executions.some(({ fault }) => faults.includes(fault ?? ''));
  const serverDied = during(all, ['model server killed']).length > 0;
  switch (type) {
    case 'provider_error':
      return did('error', 'cut') || serverDied;
    case 'network':
      return did('cut') || serverDied || during(all, ENDS_AN_ATTEMPT).length > 0;
    case 'timeout':
      return did('stall');
    case 'rate_limited': {
      const left = Date.parse(view.accepted_at) + planned.deadlineMs - Date.parse(terminal.time);
      return did('limit') && left < PATIENCE_MS;
    }
    case 'unknown_model':
      return planned.expect === 'unknown_model';
    default:
      return null;
  }
}
