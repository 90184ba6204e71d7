/** The run of another program to which a request belongs: its turn, its passes, and where a later pass left the record.
 *  Counts answers from the record for a turn only: the service does not count those of tool calls. */
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { DivergedData, ForeignRunView } from '../../../src/contract/run/foreign-run.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { Icon } from '../../parts/icon.tsx';
import { JsonDiff } from '../../parts/json.tsx';
import { Text } from '../../parts/text.tsx';

/** Id of a request of such a run: its name, cut to 60 characters, a random part, and the turn or call. */
const OF_RUN = /^run\.(?<name>.{1,60})\.[0-9a-f]{12}\.(?<call>.+)$/;
const CUT_NAME = 60;
const TURN = /^t(?<turn>\d+)(?:\.c(?<call>\d+))?/;

export function ForeignRunFact({ requestId }: { requestId: string }) {
  const { name = '', call = '' } = OF_RUN.exec(requestId)?.groups ?? {};
  // A longer name is not whole in the id.
  const enabled = name !== '' && name.length < CUT_NAME;
  const { turn, call: tool } = TURN.exec(call)?.groups ?? {};
  const until = turn === undefined ? '' : `?turn=${turn}`;
  const { data } = useRead<ForeignRunView>(path`/v1/runs/${name}` + until, { enabled, keepOld: false });
  if (name === '') return null;
  const place =
    turn === undefined ? 'a call' : tool === undefined ? `turn ${turn}` : `a call of turn ${turn}`;
  return (
    <span>
      {place} of the run <b>{name}</b>
      {data !== undefined && ` · ${data.status}, ${passesText(data)}`}
      {data !== undefined && tool === undefined && replaysText(data, requestId)}
    </span>
  );
}

function replaysText({ latest_turns: turns = [] }: ForeignRunView, requestId: string): string {
  const { replays = 0 } = turns.find(({ request_id: id }) => id === requestId) ?? {};
  if (replays === 0) return '';
  return ` · answered ${replays} ${replays === 1 ? 'time' : 'times'} from the record`;
}

/** Answers of passes after the first come from the record, as far as the pass repeats it. */
function passesText({ passes, branched }: ForeignRunView): string {
  if (passes === 1) return '1 pass';
  return `${passes} passes, the last one ${branched ? 'left the record' : 'replays the record'}`;
}

/** Type of the signal, as src/contract/run/foreign-run.ts has it. */
const DIVERGED: string = 'run.diverged';

/** Passes that did not repeat this turn, each with the first difference; the newest first. */
export function Divergences({ signals }: { signals: readonly Signal[] }) {
  const found = signals.filter(({ type, data }) => type === DIVERGED && isObject(data)).slice(-MOST);
  if (found.length === 0) return null;
  return (
    <section className="divergences stack" aria-label="Divergence">
      {found.toReversed().map(({ sequence, data }) => (
        <Divergence key={sequence} of={data as unknown as DivergedData} />
      ))}
    </section>
  );
}

const MOST = 3;

function Divergence({ of: { pass, place, recorded, sent } }: { of: DivergedData }) {
  return (
    <>
      <p>
        <Icon name="warn" /> Pass {pass} left the record at this turn: its model call differs
        {place !== '' && (
          <>
            {' '}
            first at <Text mono>{place}</Text>
          </>
        )}
        . The pass continued as a branch.
      </p>
      <JsonDiff a={recorded} b={sent} label="recorded and sent" />
    </>
  );
}
