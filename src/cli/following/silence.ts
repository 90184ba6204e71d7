/** Explains on stderr why followed work is silent: the reason of its wait, and the instant at which it ends at the latest.
 *  It must never explain one reason twice in a row, nor end the command that follows. */
import type { DirectiveSummary } from '../../contract/request/request-view.ts';
import type { Wait } from '../../contract/request/waiting.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { Invocation } from '../invocation.ts';
import type { FollowedWork } from '../on-interrupt.ts';
import { engineAbsence } from './run-lines.ts';
import { clockText, waitText } from './signal-gist.ts';
import { callIdOf } from './signal-lines.ts';

/** Time without a signal after which the reason is read; it doubles with each read of one silence. Milliseconds. */
const SILENT_MS = 2_000;
const LONGEST_MS = 64_000;
/** Directives of a request that are explained at a time. */
const MOST_EXPLAINED = 5;

export interface Silence extends Disposable {
  /** A signal of the work arrived: another silence begins. */
  add(signal: Signal): void;
  /** While true nothing is explained: a question is open. */
  quiet(asking: boolean): void;
}

/** The wait of a directive, or of a run by its request. */
interface Explanation {
  readonly subject: string;
  readonly wait: Wait;
  readonly endsAt: string | null;
}

export function explainSilence(
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  work: FollowedWork,
): Silence {
  /** The reason that was explained last, by subject. */
  const known = new Map<string, string>();
  let asking = false;
  let timer: NodeJS.Timeout | undefined;

  function explain({ subject, wait, endsAt }: Explanation): void {
    // A prompt shows what a person is asked.
    if (asking || wait.reason === 'input_required' || known.get(subject) === wait.reason) return;
    known.set(subject, wait.reason);
    const end = endsAt === null ? '' : `; ends at ${clockText(endsAt)} at the latest`;
    terminal.err(terminal.paintErr('yellow', `${waitText(wait)}${end}`));
  }

  async function read(own: NodeJS.Timeout, ms: number): Promise<void> {
    // Without the right to read, or without the service, the command goes on as it was.
    const found = await explanations(client, work).catch(() => []);
    if (timer !== own) return;
    for (const each of found.slice(0, MOST_EXPLAINED)) explain(each);
    readAfter(Math.min(2 * ms, LONGEST_MS));
  }

  function readAfter(ms: number): void {
    clearTimeout(timer);
    const own: NodeJS.Timeout = setTimeout(() => void read(own, ms), ms);
    timer = own;
  }

  readAfter(SILENT_MS);
  return {
    add(signal) {
      const subject = callIdOf(signal);
      if (signal.type === 'directive.waiting') explain({ subject, wait: signal.data, endsAt: null });
      else known.delete(subject);
      readAfter(SILENT_MS);
    },
    quiet: (on) => {
      asking = on;
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

async function explanations(
  client: Invocation['client'],
  { requestId, id }: FollowedWork,
): Promise<Explanation[]> {
  if (id !== undefined) return waitsOf([await client.directive(requestId, id)]);
  const view = await client.request(requestId);
  const absence = await engineAbsence(view?.run, client);
  const endsAt = view?.run?.deadline_at ?? null;
  const ofRun = absence === null ? [] : [{ subject: requestId, wait: absence, endsAt }];
  return [...ofRun, ...waitsOf(view?.directives ?? [])];
}

function waitsOf(directives: readonly (DirectiveSummary | null)[]): Explanation[] {
  return directives.flatMap((each) =>
    each?.waiting === undefined ? [] : [{ subject: each.id, wait: each.waiting, endsAt: each.deadline_at }],
  );
}
