/** The tools of all servers: whether their servers answer, and what a repeat of each does.
 *  Never draws more tools at once than a person reads. */
import { Link } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import type { ListedServer, ListedTool, ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { useRead } from '../../data/queries.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useKeys } from '../../keys/keymap.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { EffectMark } from './effect-mark.tsx';
import { catalogSections, type CatalogSection } from './catalog-sections.ts';
import '../../parts/field.css';
import { Output } from './server-output.tsx';
import './tools.css';

export const CATALOG = '/v1/tools?remembered=true';
const EVERY_MS = 5_000;

export function ToolsPage() {
  const { data, error, refetch } = useRead<ToolListing>(CATALOG, { everyMs: EVERY_MS });
  const [filter, setFilter] = useUrlState('filter');
  const input = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => input.current?.focus() });
  const catalog = useMemo(() => (data === undefined ? null : catalogSections(data, filter)), [data, filter]);
  return (
    <Page title="Tools" isPlace>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      <input
        ref={input}
        className="input tools-filter"
        type="search"
        placeholder="Filter by name or description"
        aria-label="Filter the tools"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      {catalog?.sections.map((section) => (
        <Server key={section.server.name} {...section} />
      ))}
      {catalog !== null && catalog.left > 0 && (
        <p className="muted">{catalog.left} more tools match: filter by a longer word.</p>
      )}
      {catalog?.sections.length === 0 && <NoTools filter={filter} />}
    </Page>
  );
}

function NoTools({ filter }: { filter: string }) {
  if (filter === '') {
    return (
      <Empty title="No MCP server is configured." command="npx adjutant init">
        The tools of each server in <code>adjutant.json</code> would be here.
      </Empty>
    );
  }
  return (
    <Empty title="No tool matches.">
      The filter is <Text mono>{filter}</Text>
    </Empty>
  );
}

const COLUMNS: readonly Column<ListedTool>[] = [
  {
    name: 'Tool',
    cell: ({ name, tool }) => (
      <Link className="tools-name" to="/tools/$toolName" params={{ toolName: name } as never}>
        <Text>{tool}</Text>
      </Link>
    ),
  },
  {
    name: 'What it does',
    isWide: true,
    isMinor: true,
    cell: ({ title, description }) => (
      <span className="tools-gist muted">
        <Text>{gistOf(description ?? title ?? '')}</Text>
      </span>
    ),
  },
  { name: 'Effect', cell: ({ effect }) => <EffectMark of={effect} /> },
];

function gistOf(text: string): string {
  return text.slice(0, 300).replaceAll(/\s+/g, ' ');
}

function Server({ server, tools, matching }: CatalogSection) {
  const { name, error } = server;
  return (
    <section className="tools-server" aria-labelledby={`server-${name}`}>
      <div className="row">
        <h2 id={`server-${name}`}>
          <Text>{name}</Text>
        </h2>
        <Health of={server} />
        <span className="faint">{countWords(server.tools, matching)}</span>
      </div>
      {error !== undefined && (
        <p className="tools-error">
          <Text>{error.slice(0, 500)}</Text>
        </p>
      )}
      <Faults of={server} />
      <Output server={name} />
      {tools.length > 0 && (
        <Table label={`Tools of ${name}`} columns={COLUMNS} rows={tools} keyOf={(tool) => tool.name} />
      )}
    </section>
  );
}

function countWords(all: number, matching: number): string {
  const tools = `${all} ${all === 1 ? 'tool' : 'tools'}`;
  return matching === all ? tools : `${matching} of ${tools}`;
}

/** Its status, and whether a worker serves it now. */
export function Health({ of: { status, served } }: { of: ListedServer }) {
  return served === false ? <Status of="silent" text="no worker serves it now" /> : <Status of={status} />;
}

const MOST_FAULTS = 20;

function Faults({ of: { faults = [] } }: { of: ListedServer }) {
  if (faults.length === 0) return null;
  return (
    <details>
      <summary>
        {faults.length} {faults.length === 1 ? 'description is' : 'descriptions are'} wrong
      </summary>
      <ul className="tools-faults">
        {faults.slice(0, MOST_FAULTS).map(({ tool, message }) => (
          <li key={`${tool} ${message}`}>
            <Text mono>{tool}</Text> <Text>{message}</Text>
          </li>
        ))}
      </ul>
    </details>
  );
}
