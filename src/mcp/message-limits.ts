/** How large anything may be that an MCP server sends.
 *  It must never differ between transports: what is too large over HTTP is too large over stdio. */
import type { EventLimits } from '../bounds/event-cutter.ts';

/** The largest message. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A parsed message can take a hundred times the memory of its text: the limits on its shape keep that small. */
export const MESSAGE_LIMITS: EventLimits = {
  maxEventBytes: MAX_MESSAGE_BYTES,
  maxDepth: 512,
  maxValues: 250_000,
};

/** What is read of a refusal. */
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
