/** The MCP servers: whether each is reached, and why not.
 *  It must never show how a server is reached. */
import { Link } from '@tanstack/react-router';
import type { ListedServer } from '../../../src/contract/tool/tool-listing.ts';
import { Empty } from '../../parts/empty.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';

const COLUMNS: readonly Column<ListedServer>[] = [
  {
    name: 'Server',
    cell: ({ name, error }) => (
      <>
        <Text>{name}</Text>
        {error !== undefined && (
          <div className="overview-error">
            <Text>{error.slice(0, 300)}</Text>
          </div>
        )}
      </>
    ),
    isWide: true,
  },
  { name: 'Tools', cell: ({ tools }) => <Link to="/tools">{tools}</Link>, isNumber: true },
  {
    name: 'State',
    cell: ({ status, served }) =>
      served === false ? <Status of="waiting" text="not served" /> : <Status of={status} />,
  },
];

export function Servers({ servers }: { servers: readonly ListedServer[] }) {
  return (
    <div>
      <h2>Servers</h2>
      {servers.length === 0 ? (
        <Empty title="No MCP server is known.">Servers stand in adjutant.json under mcpServers.</Empty>
      ) : (
        <Table label="Servers" columns={COLUMNS} rows={servers} keyOf={({ name }) => name} />
      )}
    </div>
  );
}
