/** The size limits for everything that an MCP server sends.
 *  It must never differ between transports: what is too large over HTTP is too large over stdio. */
import type { EventLimits } from '../../platform/bounds/event-cutter.ts';
import { type JsonLimits, jsonExcess } from '../../platform/bounds/json-shape.ts';

/** The largest message. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A parsed message can take a hundred times the memory of its text, and parsing 100,000 names takes 40 ms. */
export const MESSAGE_LIMITS: EventLimits = {
  maxEventBytes: MAX_MESSAGE_BYTES,
  maxDepth: 512,
  maxValues: 100_000,
};

/** Batches are no longer part of the protocol; each message in one costs as much as a message alone. */
const BATCH_LIMITS: JsonLimits = { maxDepth: 64, maxValues: 5_000 };

const OPEN_ARRAY = 0x5b;

/** Which limit the text of a message or batch crosses, in words; null: none. */
export function messageExcess(json: Buffer): string | null {
  if (json.length > MAX_MESSAGE_BYTES) return `is larger than ${MAX_MESSAGE_BYTES} bytes`;
  const isBatch = json.find((byte) => byte > 0x20) === OPEN_ARRAY;
  return jsonExcess(json, isBatch ? BATCH_LIMITS : MESSAGE_LIMITS);
}

/** Most bytes that are read of a refusal. */
export const MAX_REFUSAL_BYTES = 64 * 1024;

/** Items in the content of one result. */
export const MAX_CONTENT_ITEMS = 4_096;

/** One listing of tools, over all its pages. */
export const LISTING_LIMITS = {
  maxPages: 1_000,
  maxTools: 10_000,
  maxBytes: 16 * 1024 * 1024,
  /** Milliseconds. */
  maxMs: 120_000,
} as const;
