/** The processes of the installation: what each does, how busy it is, and whether it is still heard.
 *  It must never drain one: that is for the command line. */
import type { ListedWorker } from '../../../src/contract/request/worker-listing.ts';
import { durationText } from '../../data/shown.ts';
import { Empty } from '../../parts/empty.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { isSilent } from './trouble.ts';

const COLUMNS: readonly Column<ListedWorker>[] = [
  {
    name: 'Process',
    cell: ({ roles, host, pid }) => (
      <>
        {roles.join(', ')} <Text>{`${host} ${pid}`}</Text>
      </>
    ),
    isWide: true,
  },
  { name: 'Running', cell: ({ running, concurrency }) => `${running} of ${concurrency}`, isNumber: true },
  {
    name: 'State',
    cell: (worker) =>
      isSilent(worker) ? (
        <Status of="silent" text={`silent for ${durationText(worker.silent_ms ?? 0)}`} />
      ) : (
        <Status of={worker.state} />
      ),
  },
];

export function Processes({ workers }: { workers: readonly ListedWorker[] }) {
  return (
    <div>
      <h2>Processes</h2>
      {workers.length === 0 ? (
        <Empty title="No process works here." command="npx adjutant worker">
          Directives wait until one starts.
        </Empty>
      ) : (
        <Table label="Processes" columns={COLUMNS} rows={workers} keyOf={({ id }) => id} />
      )}
    </div>
  );
}
