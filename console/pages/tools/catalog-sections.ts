/** The catalog as the page shows it: the servers with those of their tools that match.
 *  Never returns more tools than a page draws. */
import type { ListedServer, ListedTool, ToolListing } from '../../../src/contract/tool/tool-listing.ts';

export interface CatalogSection {
  readonly server: ListedServer;
  /** Those that are drawn. */
  readonly tools: readonly ListedTool[];
  /** All that match. */
  readonly matching: number;
}

const MOST_DRAWN = 300;

/** `left`: tools that match and are not drawn. */
export function catalogSections(
  { servers, tools }: ToolListing,
  filter: string,
): { readonly sections: readonly CatalogSection[]; readonly left: number } {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const ofServer = Map.groupBy(
    tools.filter((tool) => matches(tool, words)),
    ({ server }) => server,
  );
  const sections: CatalogSection[] = [];
  let room = MOST_DRAWN;
  let left = 0;
  for (const server of servers) {
    const own = ofServer.get(server.name) ?? [];
    if (own.length === 0 && words.length > 0) continue;
    const drawn = own.slice(0, room);
    room -= drawn.length;
    left += own.length - drawn.length;
    sections.push({ server, tools: drawn, matching: own.length });
  }
  return { sections, left };
}

function matches({ name, title = '', description = '' }: ListedTool, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${name} ${title} ${description}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
