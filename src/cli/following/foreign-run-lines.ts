/** A run that another program leads, as the command line shows it: its passes, turns, divergence and idle time.
 *  It must never take a request for a run: a request of the same id comes first. */
import type { ForeignRunView } from '../../contract/run/foreign-run.ts';
import { ADJUTANT } from '../command-name.ts';
import type { Invocation } from '../invocation.ts';
import { table, timeText } from '../table.ts';
import { oneLine, type Paint } from '../terminal.ts';
import { orNull } from '../trace/trace-family.ts';
import { counted, section } from './run-lines.ts';

/** null: this caller has no run of the name. */
export async function foreignRunOf(
  { foreignRuns }: Pick<Invocation, 'foreignRuns'>,
  name: string,
): Promise<ForeignRunView | null> {
  return orNull(foreignRuns.read(name));
}

export function foreignRunLines(view: ForeignRunView, paint: Paint): string[] {
  const { run, status, idle_ms: idleMs, diverged, latest_turns: latest = [], replays = 0 } = view;
  const idle = idleMs === undefined ? '' : `, last call ${timeText(idleMs)} ago`;
  const rows = [
    ['passes', passesText(view)],
    ['turns', `${view.turns}, ${counted(replays, 'answer')} from the record`],
    ['tool calls', String(view.tool_calls)],
    ['steps', String(view.steps)],
    ...(diverged === undefined
      ? []
      : [
          [
            'divergence',
            `pass ${diverged.pass} at turn ${diverged.turn}: ${ADJUTANT} tail ${diverged.request_id}`,
          ],
        ]),
  ];
  const turns = latest
    .toReversed()
    .map((each) => [
      String(each.turn),
      each.request_id,
      counted(each.tool_calls, 'tool call'),
      each.replays === 0 ? '' : `from the record ${counted(each.replays, 'time')}`,
    ]);
  const title = view.turns > turns.length ? `latest ${turns.length} turns` : 'latest turns';
  return [
    `${paint('bold', run)} run of another program, ${status}${idle}`,
    `${paint('dim', 'trace')} ${view.trace_id}`,
    ...table(rows),
    ...section(title, table(turns), paint),
    ...(view.error === undefined ? [] : [`${paint('red', 'error')} ${oneLine(view.error, 1_000)}`]),
    ...(view.result === undefined
      ? []
      : [`${paint('green', 'result')} ${oneLine(JSON.stringify(view.result), 1_000)}`]),
  ];
}

/** Answers of passes after the first come from the record, as far as the pass repeats it. */
function passesText({ passes, branched }: ForeignRunView): string {
  if (branched) return `${passes}, the last one left the record`;
  return passes === 1 ? '1' : `${passes}, the last one repeats the record`;
}
