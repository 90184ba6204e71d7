/** A value as a tree of JSON: coloured, foldable, searchable; the path and the value of a line can be copied, the whole downloaded.
 *  Never draws more lines than were asked for. */
import { type KeyboardEvent, useId, useMemo, useState } from 'react';
import { encryptedKeyId, encryptedNote } from '../../src/contract/encrypted/encrypted-form.ts';
import { Button } from './button.tsx';
import { Code, download } from './code.tsx';
import { copy } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { findInJson, firstOpen, type Found, type JsonLine, jsonLines, LONGEST_TEXT } from './json-lines.ts';
import { Text } from './text.tsx';
import './code.css';
import './json.css';

const FIRST_LINES = 60;
const LINE_STEP = 400;
/** A value of fewer lines needs no search. */
const LINES_OF_SEARCH = 12;
/** Longer texts can be copied and downloaded. */
const MOST_CHARACTERS = 100_000;

export interface JsonProps {
  readonly value: unknown;
  readonly label: string;
  /** Number of lines that are open at first. Default: 60. */
  readonly room?: number;
  /** With which key all of it is encrypted; null: it is shown. */
  readonly keyIdOf?: (value: unknown) => string | null;
}

export function Json({ value, label, room = FIRST_LINES, keyIdOf = encryptedKeyId }: JsonProps) {
  const keyId = keyIdOf(value);
  if (keyId !== null) return <Code label={label}>{encryptedNote(keyId)}</Code>;
  return <Tree value={value} label={label} room={room} />;
}

const NOTHING_FOUND: Found = { matches: [], open: new Set(), isCut: false };

function Tree({ value, label, room }: Required<Pick<JsonProps, 'value' | 'label' | 'room'>>) {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [limit, setLimit] = useState(LINE_STEP);
  const [words, search] = useState('');
  const [active, activate] = useState<string | null>(null);
  const first = useMemo(() => firstOpen(value, room), [value, room]);
  const found = useMemo(() => (words === '' ? NOTHING_FOUND : findInJson(value, words)), [value, words]);
  const open = useMemo(() => new Set([...first, ...found.open]), [first, found]);
  const { lines, isCut } = useMemo(
    () => jsonLines(value, { folds, open, limit }),
    [value, folds, open, limit],
  );
  const fold = ({ path, isOpen }: JsonLine, next = isOpen !== true): void =>
    setFolds(new Map([...folds, [path, next]]));
  const chosen = lines.find(({ path }) => path === active) ?? null;
  return (
    <div className="code json">
      {lines.length > LINES_OF_SEARCH && (
        <Search words={words} found={found} label={label} onSearch={search} />
      )}
      <Lines
        {...{ lines, label, fold, activate }}
        active={chosen === null ? -1 : lines.indexOf(chosen)}
        matches={new Set(found.matches)}
      />
      <div className="code-actions">
        {chosen !== null && <Chosen line={chosen} />}
        {isCut && (
          <Button look="ghost" onClick={() => setLimit(limit + LINE_STEP)}>
            Show more
          </Button>
        )}
        <Whole value={value} label={label} />
      </div>
    </div>
  );
}

interface SearchProps {
  readonly words: string;
  readonly found: Found;
  readonly label: string;
  readonly onSearch: (words: string) => void;
}

function Search({ words, found: { matches, isCut }, label, onSearch }: SearchProps) {
  return (
    <div className="json-search">
      <input
        type="search"
        className="input"
        aria-label={`Search in ${label}`}
        placeholder="Search"
        maxLength={200}
        spellCheck={false}
        value={words}
        onChange={({ target }) => onSearch(target.value)}
      />
      {words !== '' && (
        <span className="faint num" role="status">
          {matches.length}
          {isCut ? '+' : ''} found
        </span>
      )}
    </div>
  );
}

interface LinesProps {
  readonly lines: readonly JsonLine[];
  readonly label: string;
  /** Place of the chosen line; -1: none. */
  readonly active: number;
  readonly matches: ReadonlySet<string>;
  readonly fold: (line: JsonLine, isOpen?: boolean) => void;
  readonly activate: (path: string) => void;
}

function Lines({ lines, label, active, matches, fold, activate }: LinesProps) {
  const id = useId();
  const press = (event: KeyboardEvent): void => {
    const line = lines[active];
    const to = lines[moved(event.key, active, lines.length)];
    if (to !== undefined) activate(to.path);
    else if (event.key === 'ArrowRight' && line?.isOpen === false) fold(line, true);
    else if (event.key === 'ArrowLeft' && line?.isOpen === true) fold(line, false);
    else if ((event.key === 'Enter' || event.key === ' ') && line?.isOpen !== null && line !== undefined)
      fold(line);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      className="json-lines"
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={active === -1 ? undefined : `${id}-${active}`}
      onKeyDown={press}
    >
      {lines.map((line, place) => (
        <Line
          key={line.path}
          id={`${id}-${place}`}
          line={line}
          isActive={place === active}
          isMatch={matches.has(line.path)}
          onChoose={() => {
            activate(line.path);
            if (line.isOpen !== null) fold(line);
          }}
        />
      ))}
    </div>
  );
}

/** -1: the key moves nowhere. */
function moved(key: string, active: number, count: number): number {
  if (key === 'ArrowDown') return Math.min(count - 1, active + 1);
  if (key === 'ArrowUp') return Math.max(0, active - 1);
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : -1;
}

interface LineProps {
  readonly id: string;
  readonly line: JsonLine;
  readonly isActive: boolean;
  readonly isMatch: boolean;
  readonly onChoose: () => void;
}

function Line({ id, line, isActive, isMatch, onChoose }: LineProps) {
  const { depth, key, kind, text, isOpen, isText } = line;
  const isContainer = kind === 'object' || kind === 'array';
  return (
    // The tree has the focus and the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isActive}
      {...(isOpen === null ? {} : { 'aria-expanded': isOpen })}
      className={isMatch ? 'json-line json-match' : 'json-line'}
      style={{ paddingLeft: Math.min(depth, 24) * 14 }}
      onClick={onChoose}
    >
      <span className="json-mark" aria-hidden="true">
        {isOpen !== null && isContainer && <Icon name={isOpen ? 'down' : 'right'} />}
      </span>
      {key !== null && (
        <span className={typeof key === 'number' ? 'json-key faint' : 'json-key'}>
          <Text mono>{String(key)}</Text>:{' '}
        </span>
      )}
      <span className={isContainer ? 'faint' : `json-${kind}`}>
        <Text mono>{shownText(line, text)}</Text>
      </span>
      {isText && <span className="faint"> · JSON in a text</span>}
    </div>
  );
}

function shownText({ kind, isOpen }: JsonLine, text: string): string {
  if (kind !== 'string')
    return kind === 'object' && text !== '{}'
      ? `{ ${text} }`
      : kind === 'array' && text !== '[]'
        ? `[ ${text} ]`
        : text;
  if (isOpen === false)
    return `"${text.slice(0, LONGEST_TEXT)}… (${text.length.toLocaleString('en-GB')} characters)`;
  return text.length > MOST_CHARACTERS ? `"${text.slice(0, MOST_CHARACTERS)}…` : `"${text}"`;
}

function Chosen({ line: { path, value } }: { line: JsonLine }) {
  const text = (): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  return (
    <div className="json-chosen">
      <Text mono>{path}</Text>
      <Button look="ghost" onClick={() => void copy(path, 'path')}>
        Copy path
      </Button>
      <Button look="ghost" onClick={() => void copy(text(), 'value')}>
        Copy value
      </Button>
    </div>
  );
}

function Whole({ value, label }: { value: unknown; label: string }) {
  const text = (): string => JSON.stringify(value, null, 2) ?? 'undefined';
  return (
    <>
      <Button look="ghost" aria-label={`Download ${label}`} onClick={() => download(text(), `${label}.json`)}>
        Download
      </Button>
      <Button look="ghost" aria-label={`Copy ${label}`} onClick={() => void copy(text(), label)}>
        <Icon name="copy" />
      </Button>
    </>
  );
}
