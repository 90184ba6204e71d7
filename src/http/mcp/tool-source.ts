/** The catalog as the MCP server reads it: kept for a moment, and read again for a name that is not in it.
 *  It must never show more than `offeredTools` lets through. */
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import { whileAvailable } from './refusal.ts';
import { type Offer, type OfferedTools, offeredTools, type Scope } from './offered-tools.ts';

type Listing = Pick<DirectiveClient, 'tools' | 'agents'>;

export interface ToolSource {
  current(): Promise<OfferedTools>;
  find(name: string): Promise<Offer | undefined>;
  /** As `find`, among tools that may not be served now; hidden ones are not found. */
  among(listed: readonly ListedTool[], name: string): Offer | undefined;
  /** The instructions as read last, however long ago: they must not cost a call its time. */
  told(): Promise<Pick<OfferedTools, 'instructions'>>;
  /** Read now. */
  read(): Promise<OfferedTools>;
}

/** A call in a row of calls does not read the catalog of a thousand tools again. */
const FRESH_MS = 1_000;
/** Nor does a row of calls of made-up names. */
const FRESH_FOR_UNKNOWN_MS = 100;

export function createToolSource(client: Listing, scope: Scope): ToolSource {
  let known: OfferedTools | null = null;
  let kept: { readonly readAt: number; readonly tools: Promise<OfferedTools> } | null = null;

  async function read(): Promise<OfferedTools> {
    const tools = whileAvailable(async () => {
      const [{ tools: listed, servers }, { agents }] = await Promise.all([client.tools(), client.agents()]);
      known = offeredTools({ tools: listed, servers, agents }, scope);
      return known;
    });
    const entry = { readAt: performance.now(), tools };
    kept = entry;
    // A failure is not kept: the next call asks again.
    tools.catch(() => void (kept === entry && (kept = null)));
    return tools;
  }

  const notOlderThan = async (ms: number): Promise<OfferedTools> =>
    kept !== null && performance.now() - kept.readAt < ms ? kept.tools : read();
  const current = async (): Promise<OfferedTools> => notOlderThan(FRESH_MS);

  async function find(name: string): Promise<Offer | undefined> {
    return (await current()).find(name) ?? (await notOlderThan(FRESH_FOR_UNKNOWN_MS)).find(name);
  }

  const among = (tools: readonly ListedTool[], name: string): Offer | undefined =>
    offeredTools({ tools, agents: [] }, scope).find(name);

  async function told(): Promise<Pick<OfferedTools, 'instructions'>> {
    return known ?? current().catch(() => offeredTools({ tools: [], agents: [] }, scope));
  }

  return { current, find, among, told, read };
}
