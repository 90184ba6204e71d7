/** Replaces the name of the model in the JSON text of a request, and leaves every other byte as it is.
 *  It must never parse and write the text again: numbers, order and white space are the caller's. */

const SPACE = /[\t\n\r ]*/y;
const PRIMITIVE = /[^\t\n\r ,}\]]*/y;

/** `text`: an object. Each member `model` at its top gets the name, however it is spelled. */
export function withModel(text: string, model: string): string {
  const name = JSON.stringify(model);
  let written = '';
  let copied = 0;
  for (const { key, start, end } of members(text)) {
    if (key !== 'model' || text.slice(start, end) === name) continue;
    written += text.slice(copied, start) + name;
    copied = end;
  }
  return copied === 0 ? text : written + text.slice(copied);
}

interface Member {
  readonly key: string;
  /** Place of its value in the text. */
  readonly start: number;
  readonly end: number;
}

/** The members at the top of an object that `JSON.parse` has read. */
function* members(text: string): Generator<Member> {
  let at = after(SPACE, text, 0) + 1;
  for (;;) {
    at = after(SPACE, text, at);
    if (text[at] !== '"') return;
    const keyEnd = endOfString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = after(SPACE, text, after(SPACE, text, keyEnd) + 1);
    const end = endOfValue(text, start);
    yield { key, start, end };
    at = after(SPACE, text, end);
    if (text[at] !== ',') return;
    at += 1;
  }
}

/** `pattern` is sticky, and matches an empty text. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== '{' && first !== '[') return after(PRIMITIVE, text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}
