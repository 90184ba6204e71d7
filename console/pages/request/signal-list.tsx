/** The signal log: a virtual list that follows, with a search of its own.
 *  It must never hold a line for a signal that is not seen. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useDeferredValue, useEffect, useRef, useState } from 'react';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { countText, preciseClockText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import type { SignalLog } from '../../data/use-signals.ts';
import { useKeys } from '../../keys/keymap.ts';
import { Empty } from '../../parts/empty.tsx';
import { Text } from '../../parts/text.tsx';
import { callOf, createMatches, gistOf, type Matches } from './signal-gist.ts';
import './signal-list.css';

const ROW = 20;
const ROW_TOUCH = 32;
/** Lines nearer to the end than this follow. px */
const NEAR_END = 24;

export interface SignalListProps {
  readonly log: SignalLog;
  /** Below another view: without search. */
  readonly isSmall?: boolean;
}

export function SignalList({ log, isSmall = false }: SignalListProps) {
  const [search, setSearch] = useUrlState('find');
  const found = useMatches(log, useDeferredValue(isSmall ? '' : search));
  const count = found === null ? log.size : found.length;
  const [follows, setFollows] = useState(true);
  useKeys({ f: () => setFollows(!follows) });
  return (
    <section className={isSmall ? 'signals signals-small' : 'signals'} aria-label="Signals">
      <div className="signals-head">
        <b>Signals</b>
        <span className="faint" data-testid="signal-count">
          {countOf(log, found)}
        </span>
        {!isSmall && (
          <input
            className="input signals-find"
            type="search"
            aria-label="Find in the log"
            placeholder="Find: type, call, text"
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
        )}
        <label className="spread">
          <input type="checkbox" checked={follows} onChange={({ target }) => setFollows(target.checked)} />{' '}
          Follow
        </label>
      </div>
      {count === 0 && log.state !== 'loading' ? (
        <Empty title={search === '' ? 'No signal has come yet.' : `No signal has “${search}”.`} />
      ) : (
        <Lines log={log} found={found} count={count} follows={follows} onFollow={setFollows} />
      )}
    </section>
  );
}

function countOf({ size }: SignalLog, found: readonly number[] | null): string {
  return found === null
    ? `${size.toLocaleString('en-GB')} received`
    : `${countText(found.length)} of ${countText(size)}`;
}

/** null: all of them. */
function useMatches({ signals }: SignalLog, search: string): readonly number[] | null {
  const held = useRef<{ search: string; of: readonly Signal[]; matches: Matches } | null>(null);
  if (search === '') return null;
  if (held.current?.search !== search || held.current.of !== signals)
    held.current = { search, of: signals, matches: createMatches(search) };
  held.current.matches.look(signals);
  return held.current.matches.found;
}

interface LinesProps {
  readonly log: SignalLog;
  readonly found: readonly number[] | null;
  readonly count: number;
  readonly follows: boolean;
  readonly onFollow: (follows: boolean) => void;
}

function Lines({ log, found, count, follows, onFollow }: LinesProps) {
  const [selected, select] = useUrlState('signal');
  const box = useRef<HTMLDivElement>(null);
  const height = matchMedia('(max-width: 759px)').matches ? ROW_TOUCH : ROW;
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 20,
  });
  useEffect(() => {
    const element = box.current;
    if (follows && element !== null) element.scrollTop = element.scrollHeight;
  }, [follows, count]);
  const lastTop = useRef(0);
  // The page itself only scrolls down: up is a person, who wants to read; at the end it follows again.
  const scrolled = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement): void => {
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END;
    const isDown = scrollTop > lastTop.current;
    const isUp = scrollTop < lastTop.current;
    lastTop.current = scrollTop;
    if (follows && isUp && !isNear) onFollow(false);
    if (!follows && isDown && isNear) onFollow(true);
  };
  return (
    <div
      ref={box}
      className="signals-box"
      role="log"
      aria-live="off"
      aria-label="Log"
      tabIndex={0}
      onScroll={({ currentTarget }) => scrolled(currentTarget)}
    >
      <div style={{ height: list.getTotalSize(), position: 'relative' }}>
        {list.getVirtualItems().map(({ index, start }) => {
          const signal = log.signals[found === null ? index : (found[index] ?? -1)];
          if (signal === undefined) return null;
          const isSelected = selected === `${signal.sequence}`;
          return (
            <div
              key={signal.sequence}
              className={isSelected ? 'signal signal-selected' : 'signal'}
              style={{ transform: `translateY(${start}px)`, height }}
              onClick={() => select(isSelected ? '' : `${signal.sequence}`)}
            >
              <Line signal={signal} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Line({ signal }: { signal: Signal }) {
  const tone = toneOf(signal);
  return (
    <>
      <span className="signal-number">{signal.sequence}</span>
      <span className="signal-time">{preciseClockText(signal.time)}</span>
      <span className={`signal-type signal-${tone}`}>
        <Text>{signal.type}</Text>
      </span>
      <span className="signal-call">
        <Text>{callOf(signal)}</Text>
      </span>
      <span className="signal-gist">
        <Text>{gistOf(signal)}</Text>
      </span>
    </>
  );
}

function toneOf({ type, data }: Signal): string {
  const { result } = data as { result?: { ok?: boolean } };
  if (result?.ok === false || type === 'ai.request.failed' || type === 'ai.request.error') return 'bad';
  if (type === 'ai.tool.approval_requested' || type === 'directive.waiting') return 'wait';
  return 'plain';
}
