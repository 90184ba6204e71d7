/** A status: a glyph and a word in its colour.
 *  It must never depend on colour alone. */
import { Icon, type IconName } from './icon.tsx';
import './status.css';

export type Tone = 'ok' | 'run' | 'wait' | 'bad' | 'quiet';

const KNOWN: Readonly<Record<string, readonly [Tone, IconName]>> = {
  succeeded: ['ok', 'check'],
  completed: ['ok', 'check'],
  ready: ['ok', 'check'],
  working: ['ok', 'check'],
  active: ['ok', 'check'],
  ended: ['quiet', 'check'],
  closed: ['quiet', 'check'],
  running: ['run', 'play'],
  open: ['run', 'play'],
  connecting: ['run', 'wait'],
  accepted: ['quiet', 'queue'],
  queued: ['quiet', 'queue'],
  waiting: ['wait', 'pause'],
  paused: ['wait', 'pause'],
  blocked: ['wait', 'pause'],
  draining: ['wait', 'pause'],
  drained: ['wait', 'pause'],
  stopping: ['wait', 'pause'],
  failed: ['bad', 'cross'],
  unavailable: ['bad', 'cross'],
  silent: ['bad', 'warn'],
  cancelled: ['quiet', 'stop'],
};

export interface StatusProps {
  /** Its word; one that is not known here is shown as it is. */
  readonly of: string;
  /** Other words in place of it. */
  readonly text?: string;
}

export function Status({ of, text = of }: StatusProps) {
  const [tone, icon] = Object.hasOwn(KNOWN, of) ? (KNOWN[of] ?? UNKNOWN) : UNKNOWN;
  return (
    <span className={`status status-${tone}`}>
      <Icon name={icon} /> {text}
    </span>
  );
}

const UNKNOWN: readonly [Tone, IconName] = ['quiet', 'unknown'];
