/** A value as a tree of JSON, or two values as one tree with their differences: coloured, foldable, searchable; the path and the value
 *  of a line can be copied, the whole downloaded. Never draws more lines than were asked for. */
import { type KeyboardEvent, type ReactNode, useCallback, useId, useMemo, useState } from 'react';
import { encryptedKeyId, encryptedNote } from '../../src/contract/encrypted/encrypted-form.ts';
import { Button } from './button.tsx';
import { Code, CodeFrame } from './code.tsx';
import { copy } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { type ComparedValues, differenceLines } from './json-differences.ts';
import {
  findInJson,
  firstOpen,
  type Folds,
  type JsonLine,
  jsonLines,
  type JsonTree,
  LONGEST_TEXT,
} from './json-lines.ts';
import { Text } from './text.tsx';
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
  readonly firstLines?: number;
  /** Id of the key with which all of it is encrypted; null: it is shown. */
  readonly keyIdOf?: (value: unknown) => string | null;
}

export function Json({ value, label, firstLines = FIRST_LINES, keyIdOf = encryptedKeyId }: JsonProps) {
  const first = useMemo(() => firstOpen(value, firstLines), [value, firstLines]);
  const read = useCallback(
    ({ folds, limit, words }: Shown): Drawn => {
      const found = findInJson(value, words);
      const open = new Set([...first, ...found.open]);
      return {
        ...jsonLines(value, { folds, open, limit }),
        matches: new Set(found.matches),
        isMore: found.isCut,
      };
    },
    [value, first],
  );
  const keyId = keyIdOf(value);
  if (keyId !== null) return <Code label={label}>{encryptedNote(keyId)}</Code>;
  return <Tree read={read} text={() => jsonText(value)} label={label} />;
}

export interface JsonDiffProps {
  /** The first value; undefined: there is none. */
  readonly a?: unknown;
  /** The second value; undefined: there is none. */
  readonly b?: unknown;
  readonly label: string;
}

/** Red lines with − are of the first value, green ones with + of the second. */
export function JsonDiff({ a, b, label }: JsonDiffProps) {
  const values = useMemo((): ComparedValues => {
    return { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
  }, [a, b]);
  const [isWhole, setWhole] = useState(false);
  const read = useCallback(
    ({ folds, limit, words }: Shown): Drawn => {
      const open = { has: () => words !== '' };
      const tree = differenceLines(values, { folds, limit, open, isWhole });
      return { ...tree, matches: matchesIn(tree, words), isMore: tree.isCut };
    },
    [values, isWhole],
  );
  const { differences } = useMemo(() => differenceLines(values, FIRST_DIFFERENCE), [values]);
  if (differences === 0) return <p className="faint">No difference.</p>;
  return (
    <Tree read={read} text={() => jsonText(values)} label={label}>
      <Button look="ghost" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Only differences' : 'Show equal members'}
      </Button>
    </Tree>
  );
}

/** Lines to a first difference lead through at most so many containers. */
const FIRST_DIFFERENCE = { folds: new Map(), open: new Set<string>(), limit: LINE_STEP, isWhole: false };

function matchesIn({ lines }: JsonTree, words: string): ReadonlySet<string> {
  const wanted = words.toLowerCase();
  if (wanted === '') return new Set();
  const isMatch = ({ key, kind, text }: JsonLine): boolean =>
    String(key ?? '')
      .toLowerCase()
      .includes(wanted) ||
    (kind !== 'object' && kind !== 'array' && text.toLowerCase().includes(wanted));
  return new Set(lines.filter(isMatch).map(({ id }) => id));
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined';
}

/** State of a reader. */
interface Shown {
  readonly folds: Folds;
  readonly limit: number;
  readonly words: string;
}

interface Drawn extends JsonTree {
  readonly matches: ReadonlySet<string>;
  /** Whether there may be more matches. */
  readonly isMore: boolean;
}

interface TreeProps {
  /** The lines for a state; the same function for the same value. */
  readonly read: (shown: Shown) => Drawn;
  readonly text: () => string;
  readonly label: string;
  readonly children?: ReactNode;
}

function Tree({ read, text, label, children }: TreeProps) {
  const [folds, setFolds] = useState<Folds>(new Map());
  const [limit, setLimit] = useState(LINE_STEP);
  const [words, search] = useState('');
  const [active, activate] = useState<string | null>(null);
  const { lines, isCut, matches, isMore } = useMemo(
    () => read({ folds, limit, words }),
    [read, folds, limit, words],
  );
  const fold = ({ id, isOpen }: JsonLine, next = isOpen !== true): void =>
    setFolds(new Map([...folds, [id, next]]));
  const chosen = lines.find(({ id }) => id === active) ?? null;
  return (
    <CodeFrame
      text={text}
      label={label}
      fileName={`${label}.json`}
      onMore={isCut ? () => setLimit(limit + LINE_STEP) : null}
      note={
        <>
          {chosen !== null && <Chosen line={chosen} />}
          {children}
        </>
      }
    >
      {(lines.length > LINES_OF_SEARCH || words !== '') && (
        <Search
          words={words}
          found={`${matches.size}${isMore ? '+' : ''} found`}
          label={label}
          onSearch={search}
        />
      )}
      <Lines
        {...{ lines, label, fold, activate, matches }}
        active={chosen === null ? -1 : lines.indexOf(chosen)}
      />
    </CodeFrame>
  );
}

interface SearchProps {
  readonly words: string;
  readonly found: string;
  readonly label: string;
  readonly onSearch: (words: string) => void;
}

function Search({ words, found, label, onSearch }: SearchProps) {
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
          {found}
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
  readonly activate: (id: string) => void;
}

function Lines({ lines, label, active, matches, fold, activate }: LinesProps) {
  const id = useId();
  const press = (event: KeyboardEvent): void => {
    const line = lines[active];
    const to = lines[moved(event.key, active, lines.length)];
    if (to !== undefined) activate(to.id);
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
          key={line.id}
          id={`${id}-${place}`}
          line={line}
          isActive={place === active}
          isMatch={matches.has(line.id)}
          onChoose={() => {
            activate(line.id);
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
  const { depth, key, kind, text, isOpen, isText, side } = line;
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
      className={['json-line', isMatch ? 'json-match' : '', side === undefined ? '' : `json-of-${side}`].join(
        ' ',
      )}
      style={{ paddingLeft: Math.min(depth, 24) * 14 }}
      onClick={onChoose}
    >
      {side !== undefined && <b className="json-sign">{side === 'a' ? '−' : '+'}</b>}
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
