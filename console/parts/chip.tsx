/** A filter with its count, on or off.
 *  It must never be used for a status: that is text. */
import type { ReactNode } from 'react';
import { countText } from '../data/shown.ts';
import './chip.css';

export interface ChipProps {
  readonly children: ReactNode;
  readonly count?: number;
  readonly isOn?: boolean;
  readonly onToggle: () => void;
}

export function Chip({ children, count, isOn = false, onToggle }: ChipProps) {
  return (
    <button type="button" className="chip" aria-pressed={isOn} onClick={onToggle}>
      {children}
      {count !== undefined && <span className="chip-count">{countText(count)}</span>}
    </button>
  );
}
