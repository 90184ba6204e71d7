/** The dry run of a redrive, in words.
 *  It must never leave out what may happen twice. */
import { Banner } from '../../parts/banner.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { type PlannedTarget, type RedrivePlan, targetWords } from './redrive-plan.ts';

const COLUMNS: readonly Column<PlannedTarget>[] = [
  { name: 'Number', isNumber: true, cell: ({ count }) => count },
  { name: 'Of', cell: ({ name }) => <Text>{name ?? '–'}</Text> },
  { name: 'What a redrive does', isWide: true, cell: targetWords },
];

const MOST_TARGETS = 50;

export interface PlanViewProps {
  readonly plan: RedrivePlan;
  /** More match than one redrive takes. */
  readonly more: boolean;
  readonly isSure: boolean;
  readonly onSure: (isSure: boolean) => void;
}

export function PlanView({ plan, more, isSure, onSure }: PlanViewProps) {
  const { count, requests, targets, repeats, uncertain } = plan;
  return (
    <>
      <p>
        {count === 1
          ? 'One directive is executed again, as a new one in '
          : `${count} directives are executed again, as new ones in `}
        {requests === 1 ? 'the same request' : `the same ${requests} requests`}. Nothing has been done yet.
        {more && ' These are the oldest; more fit the filter, and stay.'}
      </p>
      <Table
        label="What is executed again"
        columns={COLUMNS}
        rows={targets.slice(0, MOST_TARGETS)}
        keyOf={({ name, effect }) => `${name ?? ''} ${effect ?? ''}`}
      />
      {targets.length > MOST_TARGETS && <p className="muted">and {targets.length - MOST_TARGETS} more</p>}
      {repeats > 0 && (
        <Banner tone="wait">
          {repeats === 1 ? 'One call was' : `${repeats} calls were`} made before, and a redrive makes{' '}
          {repeats === 1 ? 'it' : 'them'} once more.{' '}
          {uncertain > 0 && `${uncertain} may have happened already.`}
          <label className="dead-sure">
            <input type="checkbox" checked={isSure} onChange={(event) => onSure(event.target.checked)} />I
            have looked whether {repeats === 1 ? 'it' : 'they'} did {repeats === 1 ? 'its' : 'their'} work
          </label>
        </Banner>
      )}
    </>
  );
}
