/** `?`: which keys do what, and the switch that turns single keys off.
 *  It must never list a key that does nothing. */
import { PLACES } from '../frame/places.ts';
import { Dialog } from '../parts/dialog.tsx';
import { useKeysSwitch } from './keymap.ts';
import './key-list.css';

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'filter'],
  ['Ctrl K', 'search requests, tools, agents, schedules'],
  ['j k ↓ ↑', 'next, previous row'],
  ['Enter', 'open'],
  ['Esc', 'close the step, or go back; clear the selection'],
  ['x Shift x', 'select a row, a range'],
  [
    `g then ${PLACES.map(({ key }) => key).join(' ')}`,
    PLACES.map(({ text }) => text.toLowerCase()).join(', '),
  ],
  ['c', 'copy the id or the link'],
  ['+ - 0', 'timeline: zoom in, out, fit'],
  ['Shift ← →', 'timeline: pan'],
  ['← →', 'collapse, expand a row'],
  ['z e', 'zoom to the row; next error'],
  ['f', 'follow the log'],
  ['a d', 'approve, deny: opens the dialog'],
  ['?', 'this list'],
];

export function KeyList({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [areOn, turn] = useKeysSwitch();
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Keys">
      <dl className="key-list">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>{keys.split(' ').map((key) => (key === 'then' ? ' then ' : <kbd key={key}>{key}</kbd>))}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label className="row">
        <input type="checkbox" checked={areOn} onChange={({ target }) => turn(target.checked)} /> Keyboard
        shortcuts act
      </label>
    </Dialog>
  );
}
