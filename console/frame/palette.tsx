/** `Ctrl K`: one box that finds pages, requests by their words, tools, agents and schedules. Never acts: each choice goes somewhere. */
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useState } from 'react';
import type { Search } from '../../src/contract/request/search.ts';
import { path } from '../data/api.ts';
import { useRead } from '../data/queries.ts';
import { clockText, shortId } from '../data/shown.ts';
import { ErrorBanner } from '../parts/banner.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Status } from '../parts/status.tsx';
import { Text } from '../parts/text.tsx';
import { PLACES } from './places.ts';
import './palette.css';

interface Choice {
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly kind: string;
  readonly text: string;
  readonly note?: string;
  readonly status?: string;
}

export function Palette({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Search" focus="first">
      <Choices onClose={onClose} />
    </Dialog>
  );
}

const LEAST_CHARACTERS = 2;
const LONGEST_QUERY = 200;
const TYPING_MS = 200;
const LONGEST_TEXT = 100;

function Choices({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [place, setPlace] = useState(0);
  const navigate = useNavigate();
  const { found, error } = useFound(text.trim());
  const choices = choicesOf(text.trim(), found);
  const go = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onClose();
    void navigate({
      to: choice.to,
      ...(choice.search === undefined ? {} : { search: choice.search as never }),
    });
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
        aria-label="Search requests, tools, agents, schedules and pages"
        placeholder="Requests, tools, agents, schedules, pages"
        maxLength={LONGEST_QUERY}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setPlace(0);
        }}
      />
      {error !== null && <ErrorBanner error={error} />}
      <ul id="palette-list" role="listbox" aria-label="Found">
        {choices.map((choice, index) => (
          <li
            key={`${choice.kind} ${choice.to} ${choice.text}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === place}
            onClick={() => go(choice)}
          >
            <span className="palette-kind faint">{choice.kind}</span>
            <span className="palette-text">
              <Text>{choice.text}</Text>
            </span>
            {choice.status !== undefined && <Status of={choice.status} />}
            {choice.note !== undefined && (
              <span className="faint">
                <Text>{choice.note}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Results of the service for a text that has not changed for a moment. */
function useFound(text: string): { readonly found: Search | undefined; readonly error: Error | null } {
  const [words, setWords] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setWords(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const enabled = words.length >= LEAST_CHARACTERS;
  const { data, error } = useRead<Search>(path`/v1/search?q=${words}&limit=6`, { enabled });
  return { found: enabled && text !== '' ? data : undefined, error: enabled ? error : null };
}

function choicesOf(text: string, found: Search | undefined): Choice[] {
  const places = PLACES.filter((each) => each.text.toLowerCase().includes(text.toLowerCase())).map(
    ({ to, text: name }): Choice => ({ to, kind: 'page', text: name }),
  );
  if (found === undefined) return places;
  const { requests, tools, agents, schedules } = found;
  return [
    ...places,
    ...requests.map(({ request_id: id, text: question, status, created_at: at }): Choice => {
      const title = question === '' ? id : question.slice(0, LONGEST_TEXT);
      const note = `${shortId(id, 18)} · ${clockText(at)}`;
      return { to: `/requests/${encodeURIComponent(id)}`, kind: 'request', text: title, note, status };
    }),
    ...tools.map(({ name, title }): Choice => {
      return {
        to: `/tools/${encodeURIComponent(name)}`,
        kind: 'tool',
        text: name,
        ...(title === undefined ? {} : { note: title.slice(0, LONGEST_TEXT) }),
      };
    }),
    ...agents.map(({ name, description }): Choice => {
      return {
        to: `/agents/${encodeURIComponent(name)}`,
        kind: 'agent',
        text: name,
        note: description.slice(0, LONGEST_TEXT),
      };
    }),
    ...schedules.map(({ id, status }): Choice => {
      return { to: '/schedules', search: { schedule: id }, kind: 'schedule', text: id, status };
    }),
    ...(requests.length === 0
      ? []
      : [{ to: '/requests', search: { filter: text }, kind: 'filter', text: `All requests with ${text}` }]),
  ];
}
