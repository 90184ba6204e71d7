// The reports of an attempt that are not written yet: deltas joined, other reports replaced by their next. Never loses,
// repeats or reorders a character of text.
import { plainText } from '../../contract/json/plain-text.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { SignalData, ToolCallDelta } from '../executors/definition.ts';
import { boundReport } from './report-bound.ts';
import { SIGNAL_CHARACTERS } from './report-budget.ts';

type SignalType = SignalDraft['type'];
type Delta = SignalData<'ai.llm.delta'>;
type Raw = SignalData<'ai.llm.raw'>;

/** One signal to be. */
export interface Said {
  type: SignalType;
  data: SignalDraft['data'];
}

/** A report, or all that was said in one go of one kind. `text` is null where nothing can be joined. */
interface Pending extends Said {
  text: string | null;
  /** Reports that this one replaced. */
  replaced: number;
}

/** The amount of signals in some time. */
export interface Amount {
  signals: number;
  characters: number;
}

/** The most characters of a delta in one signal: a signal below 64 KiB is announced whole. */
export const LONGEST_DELTA = 16_000;
/** The most signals of one append: a script holds up everybody else for as long as it runs. */
const MOST_SIGNALS = 64;
/** The characters after which one append takes no further signal. */
const MUCH_IN_APPEND = 16 * LONGEST_DELTA;
/** Characters that an entry counts beside its own, so that many small ones are bounded too. */
const ENTRY_CHARACTERS = 128;
/** Maximum number of waiting entries: executors that do not wait could fill the memory. */
const MOST_ENTRIES = 8_192;
/** Names that a provider gives to a tool call. */
const LONGEST_NAME = 256;

export function createPendingReports() {
  const entries: Pending[] = [];
  let size = 0;
  let nextSeq = 0;
  let nextRawSeq = 0;

  /** False: too much waits already. */
  function add(type: SignalType, data: SignalDraft['data']): boolean {
    if (type === 'ai.llm.delta') return addDelta(data as Delta);
    if (type === 'ai.llm.raw') return addRaw(data as Raw);
    const bounded = boundReport(data);
    const unwritten = entries.find((entry) => entry.type === type);
    if (!unwritten) return push({ type, data: bounded, text: null, replaced: 0 });
    unwritten.data = bounded;
    unwritten.replaced += 1;
    return true;
  }

  function addDelta(said: Delta): boolean {
    const text = textOf(said);
    if (text === '' && said.chunk_type !== 'tool_call') return true;
    const data = boundDelta(said, text);
    const last = entries.findLast(({ type }) => type !== 'ai.llm.raw');
    if (text === null || !last || last.text === null || !isContinued(last.data as Delta, data))
      return push({ type: 'ai.llm.delta', data, text, replaced: 0 });
    last.text += text;
    size += text.length;
    return true;
  }

  /** A provider's bytes and the deltas read from them are reported in turn; each is joined with its own kind. */
  function addRaw({ text, ...data }: Raw): boolean {
    const last = entries.findLast(({ type }) => type === 'ai.llm.raw');
    if (last === undefined || data.head !== undefined)
      return push({ type: 'ai.llm.raw', data: { ...data, text: '' }, text, replaced: 0 });
    last.text += text;
    size += text.length;
    return true;
  }

  function push(entry: Pending): boolean {
    if (entries.length >= MOST_ENTRIES) return false;
    entries.push(entry);
    size += ENTRY_CHARACTERS + (entry.text?.length ?? 0);
    return true;
  }

  /** The oldest of what is pending, as much as one append takes; nothing of it is pending any more. */
  function take(): Said[] {
    const taken: Said[] = [];
    const before = size;
    const isFull = (): boolean => taken.length === MOST_SIGNALS || before - size >= MUCH_IN_APPEND;
    let whole = 0;
    for (const entry of entries) {
      while (!isFull() && (entry.text?.length ?? 0) > LONGEST_DELTA) taken.push(cutFrom(entry));
      if (isFull()) break;
      taken.push(entry.text === null ? numbered(entry) : piece(entry, entry.text));
      size -= ENTRY_CHARACTERS + (entry.text?.length ?? 0);
      whole += 1;
    }
    entries.splice(0, whole);
    return taken;
  }

  function cutFrom(entry: Pending): Said {
    const text = entry.text ?? '';
    const end = isHighSurrogate(text.charCodeAt(LONGEST_DELTA - 1)) ? LONGEST_DELTA - 1 : LONGEST_DELTA;
    entry.text = text.slice(end);
    size -= end;
    return piece(entry, text.slice(0, end));
  }

  function numbered({ type, data, replaced }: Pending): Said {
    if (type === 'ai.llm.delta') return { type, data: { ...(data as Delta), seq: nextSeq++ } };
    if (replaced === 0) return { type, data };
    const { metadata } = data as { metadata?: object };
    return { type, data: { ...data, metadata: { ...metadata, coalesced: replaced } } as SignalDraft['data'] };
  }

  function piece(entry: Pending, text: string): Said {
    if (entry.type === 'ai.llm.raw') {
      const { head, ...data } = entry.data as Raw;
      entry.data = data;
      const begun = head === undefined ? {} : { head };
      return { type: 'ai.llm.raw', data: { ...data, ...begun, text, seq: nextRawSeq++ } };
    }
    const data = entry.data as Delta;
    const delta =
      data.chunk_type === 'tool_call' ? { ...(data.delta as ToolCallDelta), arguments: text } : text;
    return { type: 'ai.llm.delta', data: { ...data, delta, seq: nextSeq++ } };
  }

  return {
    add,
    take,
    /** Nothing is pending any more; returns what was. */
    clear: (): Amount => {
      const lost = amountOf(entries);
      entries.length = 0;
      size = 0;
      return lost;
    },
    /** About how many characters wait. */
    size: (): number => size,
  };
}

/** The approximate size of the signals in the log. */
export function amountOf(said: readonly (Said & { text?: string | null })[]): Amount {
  const characters = said.reduce((sum, { data, text }) => sum + SIGNAL_CHARACTERS + lengthOf(data, text), 0);
  return { signals: said.length, characters };
}

function lengthOf(data: SignalDraft['data'], text: string | null | undefined): number {
  if (typeof text === 'string') return text.length;
  const { delta, text: raw } = data as Partial<Delta & Raw>;
  if (typeof delta === 'string') return delta.length;
  if (typeof raw === 'string') return raw.length;
  return JSON.stringify(data).length;
}

/** The text of a delta is bounded by its signals; the rest of it here. */
function boundDelta(data: Delta, text: string | null): Delta {
  if (text === null) return boundReport(data);
  const named = data.chunk_type === 'tool_call' ? { ...data, delta: boundNames(data.delta) } : data;
  if (data.metadata === undefined || Object.keys(data.metadata).length === 0) return named;
  return { ...named, metadata: boundReport({ metadata: data.metadata }).metadata };
}

function boundNames(delta: unknown): ToolCallDelta {
  const { id, name, ...rest } = delta as ToolCallDelta;
  return { ...rest, id: String(id).slice(0, LONGEST_NAME), name: String(name).slice(0, LONGEST_NAME) };
}

/** The text of a delta that can be joined with the next one; null: none. */
function textOf({ chunk_type, delta }: Delta): string | null {
  if (chunk_type === 'tool_call') return isToolCallDelta(delta) ? delta.arguments : null;
  return typeof delta === 'string' ? plainText(delta) : null;
}

function isContinued(last: Delta, next: Delta): boolean {
  if (last.chunk_type !== next.chunk_type || last.call_id !== next.call_id) return false;
  if (next.chunk_type !== 'tool_call') return true;
  const [before, after] = [last.delta as ToolCallDelta, next.delta as ToolCallDelta];
  return before.index === after.index && before.id === after.id && before.name === after.name;
}

function isToolCallDelta(delta: unknown): delta is ToolCallDelta {
  return (
    typeof delta === 'object' && delta !== null && 'arguments' in delta && typeof delta.arguments === 'string'
  );
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
