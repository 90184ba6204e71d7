/** Dead letters by lane and type of error: one row for each, and one for all.
 *  It must never show a group without its number. */
import type { DeadLetterGroup, DeadLetterGroups } from '../../../src/contract/directive/dead-letter.ts';
import { countText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { Chip } from '../../parts/chip.tsx';
import { Instant } from '../../parts/instant.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { HourStrip } from './hour-strip.tsx';
import { groupText } from './letters-query.ts';

export function GroupTable({
  groups: { groups, total, groups_left_out: left },
}: {
  groups: DeadLetterGroups;
}) {
  const [chosen, choose] = useUrlState('group');
  const isOn = (group: DeadLetterGroup): boolean => chosen === groupText(group);
  const toggle = (group: DeadLetterGroup): void => choose(isOn(group) ? '' : groupText(group));
  return (
    <section className="stack" aria-label="Groups of dead letters">
      <p className="muted">
        {countText(total)} in all. {left > 0 && `${left} smaller groups are not shown.`}
      </p>
      <Table
        label="Dead letters by lane and type of error"
        columns={columnsOf(isOn, toggle)}
        rows={groups}
        keyOf={groupText}
      />
    </section>
  );
}

function columnsOf(
  isOn: (group: DeadLetterGroup) => boolean,
  toggle: (group: DeadLetterGroup) => void,
): readonly Column<DeadLetterGroup>[] {
  const now = Date.now();
  return [
    {
      name: 'Error',
      isWide: true,
      cell: (group) => (
        <Chip isOn={isOn(group)} onToggle={() => toggle(group)}>
          <Text>{group.error_type}</Text>
        </Chip>
      ),
    },
    { name: 'Lane', cell: ({ lane }) => <Text>{lane ?? '–'}</Text> },
    { name: 'Number', isNumber: true, cell: ({ count }) => countText(count) },
    { name: 'Last 24 hours', isMinor: true, cell: (group) => <HourStrip group={group} now={now} /> },
    { name: 'First', isNumber: true, isMinor: true, cell: ({ first_at: at }) => <Instant at={at} /> },
    { name: 'Last', isNumber: true, cell: ({ last_at: at }) => <Instant at={at} /> },
  ];
}
