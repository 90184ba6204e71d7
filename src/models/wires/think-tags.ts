// Splits a text whose beginning is thinking in <think> tags, as it arrives in any cut.
// Must never take a tag for one that comes after the beginning of the answer.

const OPEN = '<think>';
const CLOSE = '</think>';
/** White space before a tag. More of it is text: each new cut is compared from its beginning. */
const MAX_BLANK_CHARACTERS = 1_024;

/** `leading`: an answer may begin with <think>. `open`: it begins inside, because the prompt ended with the tag. */
export type ThinkTags = 'leading' | 'open';

export interface SplitText {
  thinking: string;
  text: string;
}

export interface ThinkSplitter {
  push(text: string): SplitText;
  /** The part that was held because it could be the beginning of a tag. */
  rest(): SplitText;
}

export function createThinkSplitter(tags: ThinkTags): ThinkSplitter {
  let state: 'start' | 'inside' | 'after' | 'text' = 'start';
  let held = '';

  function atStart(out: SplitText): boolean {
    const begun = held.trimStart();
    const isNear = held.length - begun.length <= MAX_BLANK_CHARACTERS;
    if (isNear && begun.startsWith(OPEN)) {
      held = begun.slice(OPEN.length);
      state = 'inside';
      return true;
    }
    if (isNear && OPEN.startsWith(begun)) return false;
    state = tags === 'open' ? 'inside' : 'text';
    if (state === 'inside') return true;
    out.text += held;
    held = '';
    return false;
  }

  function inside(out: SplitText): boolean {
    const end = held.indexOf(CLOSE);
    const kept = end < 0 ? held.length - tailLength(held) : end;
    out.thinking += held.slice(0, kept);
    held = held.slice(end < 0 ? kept : end + CLOSE.length);
    if (end >= 0) state = 'after';
    return end >= 0;
  }

  /** The white space between the thinking and the answer belongs to neither. */
  function after(out: SplitText): void {
    const begun = held.trimStart();
    held = '';
    if (begun === '') return;
    state = 'text';
    out.text += begun;
  }

  return {
    push(text) {
      const out = { thinking: '', text: '' };
      if (state === 'text') return { ...out, text };
      held += text;
      if (state === 'start' && !atStart(out)) return out;
      if (state === 'inside' && !inside(out)) return out;
      after(out);
      return out;
    },
    rest() {
      const out = state === 'inside' ? { thinking: held, text: '' } : { thinking: '', text: held };
      held = '';
      return out;
    },
  };
}

/** Characters at the end that may be the beginning of the closing tag. */
function tailLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1)
    if (CLOSE.startsWith(text.slice(-length))) return length;
  return 0;
}
