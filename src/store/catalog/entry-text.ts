// The text of one server's entry in the catalog, written and read in steps: it may be megabytes, nearly all of them tools.
// Must never write what `JSON.parse` does not read, nor read otherwise: older processes know nothing of steps.
import { createSteps } from '../../platform/bounds/steps.ts';

interface Tooled {
  readonly tools: readonly unknown[];
}

/** Shorter ones are parsed at once, characters. */
const LONG = 65_536;
const TOOLS = '"tools":';

export async function entryText<Entry extends Tooled>({ tools, ...rest }: Entry): Promise<string> {
  const nextStep = createSteps();
  const texts: string[] = [];
  for (const tool of tools) {
    texts.push(JSON.stringify(tool));
    await nextStep();
  }
  return `${JSON.stringify({ ...rest, tools: [] }).slice(0, -2)}${texts.join(',')}]}`;
}

/** Rejects as `JSON.parse` throws. */
export async function parseEntry<Entry extends Tooled>(text: string): Promise<Entry> {
  if (text.length < LONG) return JSON.parse(text) as Entry;
  const nextStep = createSteps();
  const cuts = createCuts(text);
  const tools: unknown[] = [];
  for (let cut = cuts.next(); cut !== null; cut = cuts.next()) {
    tools.push(JSON.parse(text.slice(cut.from, cut.to)));
    await nextStep();
  }
  const list = cuts.list();
  if (list === null) return JSON.parse(text) as Entry;
  const rest = JSON.parse(text.slice(0, list.from) + text.slice(list.to)) as Entry;
  return { ...rest, tools };
}

interface Cut {
  readonly from: number;
  readonly to: number;
}

interface Cuts {
  /** The next tool of the list; null: there is no further one. */
  next(): Cut | null;
  /** The text between the brackets of the list; null: none, or it holds other values than objects. */
  list(): Cut | null;
}

/** Finds the tools in the text of an entry without reading what they hold. */
function createCuts(text: string): Cuts {
  const marks = /["[\]{}]/g;
  let depth = 0;
  let listFrom = -1;
  let listTo = -1;
  let toolFrom = -1;
  /** Where the next tool begins: a mark elsewhere belongs to something that this process has not written. */
  let expected = -1;
  let isOdd = false;

  /** To the end of the text that begins at the quote. */
  function skipText(quote: number): void {
    let end = text.indexOf('"', quote + 1);
    while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
    marks.lastIndex = end === -1 ? text.length : end + 1;
  }

  function open(mark: string, index: number): void {
    if (depth === 2 && listFrom === -1 && mark === '[' && text.endsWith(TOOLS, index)) {
      listFrom = index + 1;
      expected = listFrom;
    } else if (depth === 3 && listFrom !== -1) {
      toolFrom = index;
      isOdd ||= index !== expected;
    }
  }

  function close(index: number): Cut | null {
    if (listFrom === -1 || depth > 2) return null;
    if (depth === 2) {
      expected = index + 2;
      return { from: toolFrom, to: index + 1 };
    }
    listTo = index;
    isOdd ||= index !== (toolFrom === -1 ? listFrom : expected - 1);
    return null;
  }

  function next(): Cut | null {
    for (let found = marks.exec(text); found !== null && listTo === -1; found = marks.exec(text)) {
      const { index } = found;
      const mark = found[0];
      if (mark === '"') skipText(index);
      else if (mark === '{' || mark === '[') {
        depth += 1;
        open(mark, index);
      } else {
        depth -= 1;
        const cut = close(index);
        if (cut !== null) return cut;
      }
    }
    return null;
  }

  return { next, list: () => (listTo === -1 || isOdd ? null : { from: listFrom, to: listTo }) };
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0;
  while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
