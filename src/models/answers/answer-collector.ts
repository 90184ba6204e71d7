// Builds an answer from the parts of a stream, and returns each part as it arrives: the joined parts are the answer.
import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { plainText } from '../../contract/json/plain-text.ts';
import { MAX_ANSWER_PARTS, MAX_WRITTEN_CHARACTERS } from './answer-limits.ts';
import {
  type AnswerPart,
  filePartOf,
  type ModelAnswer,
  usageOf,
  warningTexts,
  wireNameOf,
  type WrittenCall,
} from './model-answer.ts';
import { RefusedAnswer } from './refused-answer.ts';
import { reportedTokens, type ReportedTokens } from './spent-tokens.ts';
import { ownMember, setOwnMember } from '../../contract/json/json-object.ts';

/** Chunk of an answer that is still being written. */
export type AnswerPiece =
  | { kind: 'content' | 'thinking'; text: string }
  /** `input` is the JSON text that was added; '' at first. `index` counts the calls of the answer from 0. */
  | { kind: 'tool_call'; index: number; id: string; wireName: string; input: string };

type TextPart = Extract<
  LanguageModelV4StreamPart,
  { type: 'text-start' | 'text-delta' | 'reasoning-start' | 'reasoning-delta' }
>;
/** A call under way. */
interface OpenCall {
  index: number;
  call: WrittenCall;
  isReported: boolean;
}

type Collected = Pick<
  ModelAnswer,
  'parts' | 'calls' | 'finish' | 'usage' | 'providerData' | 'modelId' | 'warnings'
>;

export interface AnswerCollector {
  /** The chunk that the part adds, if it adds one. */
  take(part: LanguageModelV4StreamPart): AnswerPiece | null;
  readonly answer: Collected;
  readonly reported: ReportedTokens;
  /** Characters the model has written. */
  written(): number;
  /** Which limit the answer crosses so far; null: none. */
  excess(): RefusedAnswer | null;
}

export function createCollector(): AnswerCollector {
  const answer: Collected = { parts: [], calls: [], finish: null, usage: null, modelId: null, warnings: [] };
  const reported: ReportedTokens = { input: null, output: null };
  const blocks = createAnswerBlocks(answer.parts);
  /** Calls under way, by id. */
  const open = new Map<string, OpenCall>();
  let characters = 0;

  function textPiece(type: 'text' | 'thinking', part: TextPart): AnswerPiece | null {
    const text = 'delta' in part ? plainText(part.delta) : '';
    blocks.write(type, part.id, text, part.providerMetadata);
    characters += text.length;
    return text === '' ? null : { kind: type === 'text' ? 'content' : 'thinking', text };
  }

  function openCall(id: string, toolName: string): OpenCall {
    const call: WrittenCall = { id, wireName: wireNameOf(toolName), input: '' };
    const entry = { index: open.size, call, isReported: false };
    open.set(id, entry);
    answer.parts.push({ type: 'tool_call', call });
    return entry;
  }

  function callPiece(id: string, input: string): AnswerPiece | null {
    const entry = open.get(id);
    if (!entry) return null;
    entry.isReported ||= input !== '';
    characters += input.length;
    return { kind: 'tool_call', index: entry.index, id, wireName: entry.call.wireName, input };
  }

  function wholeCall(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): AnswerPiece | null {
    const { toolCallId: id, toolName, input, providerMetadata } = part;
    const entry = open.get(id) ?? openCall(id, toolName);
    entry.call.input = input;
    keepData(entry.call, providerMetadata);
    answer.calls[entry.index] = entry.call;
    return entry.isReported ? null : callPiece(id, input);
  }

  function take(part: LanguageModelV4StreamPart): AnswerPiece | null {
    const { type } = part;
    if (type === 'text-start' || type === 'text-delta') return textPiece('text', part);
    if (type === 'reasoning-start' || type === 'reasoning-delta') return textPiece('thinking', part);
    if (type === 'tool-input-start') {
      if (part.providerExecuted !== true) openCall(part.id, part.toolName);
      return callPiece(part.id, '');
    }
    if (type === 'tool-input-delta') return callPiece(part.id, part.delta);
    if (type === 'tool-call') return part.providerExecuted === true ? null : wholeCall(part);
    takeReport(part);
    return null;
  }

  /** Parts that add nothing a reader wants to see at once. */
  function takeReport(part: LanguageModelV4StreamPart): void {
    if (part.type === 'text-end') blocks.end('text', part.id, part.providerMetadata);
    if (part.type === 'reasoning-end') blocks.end('thinking', part.id, part.providerMetadata);
    if (part.type === 'stream-start') answer.warnings.push(...warningTexts(part.warnings));
    if (part.type === 'response-metadata') answer.modelId = part.modelId ?? answer.modelId;
    if (part.type === 'file') answer.parts.push(filePartOf(part));
    if (part.type === 'raw') Object.assign(reported, reportedTokens(part.rawValue));
    if (part.type === 'finish') {
      answer.finish = part.finishReason;
      answer.usage = usageOf(part.usage);
      if (part.providerMetadata !== undefined) answer.providerData = part.providerMetadata;
    }
  }

  function excess(): RefusedAnswer | null {
    if (characters > MAX_WRITTEN_CHARACTERS)
      return new RefusedAnswer('too_large', `the answer has more than ${MAX_WRITTEN_CHARACTERS} characters`);
    if (answer.parts.length + blocks.open() > MAX_ANSWER_PARTS)
      return new RefusedAnswer('too_large', `the answer has more than ${MAX_ANSWER_PARTS} parts`);
    return null;
  }

  return { take, answer, reported, written: () => characters, excess };
}

type OpenPart = Extract<AnswerPart, { text: string }>;
type Data = SharedV4ProviderMetadata | undefined;

/** New blocks are added to `parts`. */
function createAnswerBlocks(parts: AnswerPart[]) {
  const open = new Map<string, OpenPart>();

  function blockOf(type: OpenPart['type'], id: string): OpenPart {
    const known = open.get(`${type} ${id}`);
    if (known) return known;
    const block: OpenPart = { type, text: '' };
    open.set(`${type} ${id}`, block);
    parts.push(block);
    return block;
  }

  return {
    write(type: OpenPart['type'], id: string, text: string, data: Data): void {
      const block = blockOf(type, id);
      block.text += text;
      keepData(block, data);
    },
    end(type: OpenPart['type'], id: string, data: Data): void {
      const block = open.get(`${type} ${id}`);
      if (block) keepData(block, data);
      open.delete(`${type} ${id}`);
    },
    /** Blocks that have not ended. */
    open: (): number => open.size,
  };
}

/** A provider's last data about a part replaces earlier data, but drops none of its keys. */
function keepData(
  part: { providerData?: SharedV4ProviderMetadata },
  data: SharedV4ProviderMetadata | undefined,
): void {
  for (const [provider, members] of Object.entries(data ?? {})) {
    part.providerData ??= {};
    const before = ownMember(part.providerData, provider);
    setOwnMember(part.providerData, provider, { ...before, ...members });
  }
}
