/** Reads what a server wants to ask a model (`sampling/createMessage`), within bounds, and writes the answer as the protocol wants it.
 *  It must never pass on what is larger than a model call may be, nor what no model here understands. */
import { isObject } from '../../contract/json/json-object.ts';
import type { ContentPart, Message } from '../../contract/model/message.ts';
import type { Read } from './questions.ts';

/** Limits of one request. */
export const SAMPLING_LIMITS = {
  messages: 128,
  /** Over all messages. */
  parts: 256,
  /** Bytes of all messages and the system prompt, as UTF-8. */
  textBytes: 262_144,
  images: 8,
  /** Bytes of all images, as base64. Each step to the provider reads them once more, on the event loop. */
  imageBytes: 1_048_576,
  stopSequences: 16,
  stopCharacters: 256,
} as const;

export interface SamplingRequest {
  readonly messages: readonly Message[];
  /** null: none. */
  readonly systemPrompt: string | null;
  /** Limit of the server; the operator's limit applies too. */
  readonly maxTokens: number;
  /** null: as usual. */
  readonly temperature: number | null;
  readonly stopSequences: readonly string[];
}

export type SamplingReply =
  | {
      readonly ok: true;
      readonly text: string;
      /** As its provider names it. */
      readonly model: string;
      readonly stopReason: 'endTurn' | 'stopSequence' | 'maxTokens';
    }
  /** In words that the server may read. */
  | { readonly ok: false; readonly reason: string };

/** Rejects when the server wants no answer any more. */
export type OnSampling = (request: SamplingRequest, withdrawn: AbortSignal) => Promise<SamplingReply>;

type Fields = Readonly<Record<string, unknown>>;

/** `params` of `sampling/createMessage`. Preferences, context of servers and metadata are not read. */
export function readSampling(params: unknown): Read<SamplingRequest> {
  const { messages, systemPrompt = null, maxTokens, temperature = null, ...rest } = Object(params) as Fields;
  const { stopSequences: stops = [], tools, toolChoice } = rest;
  if (tools !== undefined || toolChoice !== undefined) return refused('gives tools to the model', true);
  if (systemPrompt !== null && typeof systemPrompt !== 'string')
    return refused('has a system prompt that is no text');
  if (!isCount(maxTokens)) return refused('asks a model without saying for how many tokens');
  if (temperature !== null && !isTemperature(temperature))
    return refused('asks a model with a wrong temperature');
  if (!areStops(stops)) return refused('has stop sequences that cannot be used');
  const read = readMessages(messages, systemPrompt ?? '');
  if (!read.ok) return read;
  const wish = { maxTokens, temperature, stopSequences: stops };
  return { ok: true, value: { messages: read.value, systemPrompt, ...wish } };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 1;
}

function isTemperature(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 2;
}

function areStops(value: unknown): value is string[] {
  const { stopSequences, stopCharacters } = SAMPLING_LIMITS;
  if (!Array.isArray(value) || value.length > stopSequences) return false;
  return value.every((each) => typeof each === 'string' && each !== '' && each.length <= stopCharacters);
}

/** Use of the limits by the messages. */
interface Used {
  parts: number;
  textBytes: number;
  images: number;
  imageBytes: number;
}

function readMessages(given: unknown, systemPrompt: string): Read<Message[]> {
  if (!Array.isArray(given) || given.length === 0) return refused('asks a model without a message');
  if (given.length > SAMPLING_LIMITS.messages)
    return refused(`asks a model with more than ${SAMPLING_LIMITS.messages} messages`);
  const used: Used = { parts: 0, textBytes: Buffer.byteLength(systemPrompt), images: 0, imageBytes: 0 };
  const excess = excessOf(used);
  if (excess !== null) return refused(excess);
  const messages: Message[] = [];
  for (const each of given as unknown[]) {
    const read = readMessage(each, used);
    if (!read.ok) return read;
    messages.push(read.value);
  }
  return { ok: true, value: messages };
}

function readMessage(given: unknown, used: Used): Read<Message> {
  const { role, content } = Object(given) as Fields;
  if (role !== 'user' && role !== 'assistant')
    return refused('asks a model with a message of an unknown role');
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  const parts: ContentPart[] = [];
  for (const block of blocks) {
    const read = readPart(block, used);
    if (!read.ok) return read;
    const excess = excessOf(used);
    if (excess !== null) return refused(excess);
    parts.push(read.value);
  }
  if (parts.length === 0) return refused('asks a model with an empty message');
  return { ok: true, value: { role, content: parts } };
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const IMAGE_TYPE = /^image\/[A-Za-z0-9.+-]{1,100}$/;

/** Counts before it reads the data. */
function readPart(block: unknown, used: Used): Read<ContentPart> {
  if (!isObject(block)) return refused('asks a model with content that is no object');
  const { type, text, data, mimeType } = block;
  used.parts += 1;
  if (type === 'text' && typeof text === 'string') {
    used.textBytes += Buffer.byteLength(text);
    return { ok: true, value: { type, text } };
  }
  if (type !== 'image')
    return refused(`sends a model content of the type ${String(type).slice(0, 32)}`, true);
  const isImage = typeof data === 'string' && typeof mimeType === 'string' && IMAGE_TYPE.test(mimeType);
  used.images += 1;
  used.imageBytes += isImage ? data.length : 0;
  if (excessOf(used) === null && !(isImage && BASE64.test(data)))
    return refused('sends a model an image that cannot be read');
  return { ok: true, value: { type, data: String(data), media_type: String(mimeType) } };
}

/** Which limit is crossed, in words; null: none. */
function excessOf({ parts, textBytes, images, imageBytes }: Used): string | null {
  const {
    parts: mostParts,
    textBytes: mostText,
    images: mostImages,
    imageBytes: mostImage,
  } = SAMPLING_LIMITS;
  if (parts > mostParts) return `asks a model with more than ${mostParts} parts of content`;
  if (textBytes > mostText) return `asks a model with more than ${mostText} bytes of text`;
  if (images > mostImages) return `asks a model with more than ${mostImages} images`;
  return imageBytes > mostImage ? `asks a model with more than ${mostImage} bytes of images` : null;
}

function refused(reason: string, unsupported = false): { ok: false; unsupported: boolean; reason: string } {
  return { ok: false, unsupported, reason };
}

/** As a `CreateMessageResult`. */
export function samplingResult({ text, model, stopReason }: Extract<SamplingReply, { ok: true }>) {
  return { role: 'assistant' as const, content: { type: 'text' as const, text }, model, stopReason };
}
