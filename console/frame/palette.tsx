/** `Ctrl K`: goes to a page, or to the request of an id.
 *  It must never act on anything: it only goes somewhere. */
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Text } from '../parts/text.tsx';
import { PLACES } from './places.ts';
import './palette.css';

interface Choice {
  readonly to: string;
  readonly text: string;
}

export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Go to" focus="first">
      <Choices onClose={onClose} />
    </Dialog>
  );
}

function Choices({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [place, setPlace] = useState(0);
  const navigate = useNavigate();
  const choices = choicesOf(text);
  const go = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onClose();
    void navigate({ to: choice.to });
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(choices[place]);
    if (step !== 0) setPlace((place + step + choices.length) % Math.max(1, choices.length));
    if (step !== 0 || event.key === 'Enter') event.preventDefault();
  };
  return (
    <div className="palette" onKeyDown={press}>
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${place}`}
        aria-label="A page, or the id of a request"
        placeholder="A page, or the id of a request"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setPlace(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Places">
        {choices.map((choice, index) => (
          <li
            key={choice.to}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === place}
            onClick={() => go(choice)}
          >
            <Text>{choice.text}</Text>
          </li>
        ))}
      </ul>
    </div>
  );
}

function choicesOf(text: string): Choice[] {
  const wanted = text.trim();
  const places = PLACES.filter((each) => each.text.toLowerCase().includes(wanted.toLowerCase()));
  const isId = wanted.length > 2 && /^[A-Za-z0-9][\w.:-]*$/.test(wanted);
  const request = { to: `/requests/${encodeURIComponent(wanted)}`, text: `Request ${wanted}` };
  return [...places, ...(isId ? [request] : [])];
}
