/** The filter of the list: text that is kept in the URL, and chips that write it.
 *  It must never filter by what is only half typed: Enter, or leaving the field, does. */
import { type ReactNode, type Ref, useEffect, useState } from 'react';
import type { RequestListing } from '../../../src/contract/request/request-listing.ts';
import { Chip } from '../../parts/chip.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { FILTER_WORDS, has, toggled } from './filter-text.ts';

const SHOWN = ['open', 'waiting', 'failed', 'succeeded', 'cancelled'] as const;
const MOST_ERRORS = 3;

export interface FilterBarProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** null: not known yet. */
  readonly counts: RequestListing['counts'] | null;
  readonly ref: Ref<HTMLInputElement>;
  readonly children: ReactNode;
}

export function FilterBar({ filter, onFilter, counts, ref, children }: FilterBarProps) {
  const [text, setText] = useState(filter);
  useEffect(() => setText(filter), [filter]);
  const toggle = (name: string, value: string): void => onFilter(toggled(filter, name, value));
  const errors = counts?.error_types.slice(0, MOST_ERRORS) ?? [];
  return (
    <div className="requests-bar">
      <input
        ref={ref}
        type="search"
        className="input requests-filter"
        aria-label="Filter"
        title={`Words, and ${FILTER_WORDS.map((word) => `${word}:`).join(' ')}. Enter applies them.`}
        enterKeyHint="search"
        placeholder="status:failed agent:default since:noon"
        maxLength={500}
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => onFilter(text.trim())}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') onFilter(text.trim());
          if (key === 'Escape') currentTarget.blur();
        }}
      />
      {text.trim() !== filter && (
        <span className="faint">
          <kbd>Enter</kbd> filters
        </span>
      )}
      {SHOWN.map((status) => (
        <Chip
          key={status}
          {...(counts === null ? {} : { count: counts.status[status] })}
          isOn={has(filter, 'status', status)}
          onToggle={() => toggle('status', status)}
        >
          <Status of={status} />
        </Chip>
      ))}
      {errors.map(({ type, requests }) => (
        <Chip
          key={type}
          count={requests}
          isOn={has(filter, 'error', type)}
          onToggle={() => toggle('error', type)}
        >
          <Text>{type}</Text>
        </Chip>
      ))}
      <span className="spread row requests-menus">{children}</span>
    </div>
  );
}
