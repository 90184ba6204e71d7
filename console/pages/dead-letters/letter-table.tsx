/** Single dead letters: what failed, how, and when; each opens in place.
 *  It must never draw more than a page of them. */
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { DeadLetter } from '../../../src/contract/directive/dead-letter.ts';
import { safeText } from '../../data/safe-text.ts';
import { shortId } from '../../data/shown.ts';
import { keyOf, placeOf } from '../../data/tenant.ts';
import { useKeys } from '../../keys/keymap.ts';
import { Icon } from '../../parts/icon.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Text } from '../../parts/text.tsx';
import '../../parts/table.css';
import { LetterDetails } from './letter-details.tsx';
import { mayHaveHappened } from './redrive-plan.ts';

export interface LetterTableProps {
  readonly letters: readonly DeadLetter[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

export function letterKey(letter: Pick<DeadLetter, 'request_id' | 'id'>): string {
  return `${keyOf(letter)}/${letter.id}`;
}

export function LetterTable({ letters, chosen, onChoose }: LetterTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [open, setOpen] = useState<string | null>(null);
  const all = letters.map(letterKey);
  const areAll = all.every((key) => chosen.has(key));
  const toggle = (key: string): void => onChoose(toggled(chosen, key));
  useKeys(rowKeys(body, toggle));
  return (
    <table className="table dead-letters" aria-label="Dead letters">
      <Heads areAll={areAll} onAll={() => onChoose(new Set(areAll ? [] : all))} />
      <tbody ref={body}>
        {letters.map((letter) => {
          const key = letterKey(letter);
          return (
            <LetterRow
              key={key}
              letter={letter}
              isChosen={chosen.has(key)}
              isOpen={open === key}
              onChoose={() => toggle(key)}
              onOpen={() => setOpen(open === key ? null : key)}
            />
          );
        })}
      </tbody>
    </table>
  );
}

function toggled(chosen: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** The focus is the row's own button, so that Enter opens it. */
function rowKeys(body: { current: HTMLTableSectionElement | null }, toggle: (key: string) => void) {
  const buttons = (): HTMLElement[] => [...(body.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
  const step = (by: number): void => {
    const rows = buttons();
    const at = rows.findIndex((row) => row === document.activeElement);
    const first = by > 0 ? 0 : rows.length - 1;
    rows[at === -1 ? first : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
  };
  const choose = (): void => {
    const key = buttons().find((row) => row === document.activeElement)?.dataset['row'];
    if (key !== undefined) toggle(key);
  };
  return {
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    x: choose,
  };
}

function Heads({ areAll, onAll }: { areAll: boolean; onAll: () => void }) {
  return (
    <thead>
      <tr>
        <th scope="col">
          <label className="check">
            <input type="checkbox" aria-label="Select all that are shown" checked={areAll} onChange={onAll} />
          </label>
        </th>
        <th scope="col" className="table-wide">
          What failed
        </th>
        <th scope="col" className="table-minor">
          Request
        </th>
        <th scope="col" className="num table-minor">
          Attempts
        </th>
        <th scope="col" className="num">
          Ended
        </th>
      </tr>
    </thead>
  );
}

interface LetterRowProps {
  readonly letter: DeadLetter;
  readonly isChosen: boolean;
  readonly isOpen: boolean;
  readonly onChoose: () => void;
  readonly onOpen: () => void;
}

function LetterRow({ letter, isChosen, isOpen, onChoose, onOpen }: LetterRowProps) {
  const { request_id, id, attempts, ended_at } = letter;
  return (
    <>
      <tr className={isChosen ? 'dead-chosen' : ''}>
        <td>
          <label className="check">
            <input
              type="checkbox"
              checked={isChosen}
              onChange={onChoose}
              aria-label={`Select ${safeText(id)} of ${safeText(request_id)}`}
            />
          </label>
        </td>
        <td className="table-wide">
          <Summary letter={letter} isOpen={isOpen} onOpen={onOpen} />
        </td>
        <td className="table-minor mono">
          <Link {...placeOf(letter)} title={request_id}>
            {shortId(safeText(request_id))}
          </Link>
          {letter.tenant !== undefined && <span className="muted"> tenant {letter.tenant}</span>}
        </td>
        <td className="num table-minor">{attempts}</td>
        <td className="num">
          <Instant at={ended_at} />
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5}>
            <LetterDetails letter={letter} />
          </td>
        </tr>
      )}
    </>
  );
}

function Summary({ letter, isOpen, onOpen }: { letter: DeadLetter; isOpen: boolean; onOpen: () => void }) {
  const { error, name, type, about } = letter;
  return (
    <button
      type="button"
      className="dead-summary"
      aria-expanded={isOpen}
      data-row={letterKey(letter)}
      onClick={onOpen}
    >
      <Icon name={isOpen ? 'down' : 'right'} />
      <span className="dead-name">
        <Text>{name ?? type}</Text>
        {about !== undefined && (
          <>
            {' '}
            of the end of{' '}
            <Text>{about.id === null ? about.request_id : `${about.request_id}/${about.id}`}</Text>
          </>
        )}
      </span>
      <span className="dead-type">
        <Text>{error.type}</Text>
      </span>
      {mayHaveHappened(letter) && <span className="dead-unknown">may have happened</span>}
      <span className="dead-message muted">
        <Text>{error.message.slice(0, 300)}</Text>
      </span>
    </button>
  );
}
