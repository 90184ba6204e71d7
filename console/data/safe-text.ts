/** Text from models, tools and callers as it can be shown: characters that steer a display become tokens that can be read.
 *  It must never change what can be read. */

/** Control characters but tab and line feed, zero-width and bidirectional ones, tags, variation selectors, all that is drawn
 *  as nothing, and halves of pairs; each with its repeats. Only what makes a picture of one emoji or of a key stays. */
const STEERING =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]|\p{Surrogate})(?<!\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f(?=\u20e3))\1*/gu;

/** Each token is an element of its own: a browser does not bear any number of them. */
const MOST_TOKENS = 2_000;

export interface TextPiece {
  readonly text: string;
  /** Whether it represents invisible characters. */
  readonly isToken: boolean;
}

/** `U+202E` for a character that steers, `U+202E ×9` for nine of them. After many tokens the rest is one part, as `safeText` has it. */
export function safePieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let from = 0;
  let tokens = 0;
  for (const { 0: run, 1: character = '', index } of text.matchAll(STEERING)) {
    if (tokens === MOST_TOKENS) return [...pieces, { text: safeText(text.slice(from)), isToken: false }];
    if (index > from) pieces.push({ text: text.slice(from, index), isToken: false });
    pieces.push({ text: tokenOf(run, character), isToken: true });
    tokens += 1;
    from = index + run.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isToken: false });
  return pieces;
}

/** The same as one text, as for a title: `[U+202E]`. */
export function safeText(text: string): string {
  return text.replaceAll(STEERING, (run: string, character: string) => `[${tokenOf(run, character)}]`);
}

/** In letters that every font has. */
function tokenOf(run: string, character: string): string {
  const name = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const times = run.length / character.length;
  return times === 1 ? name : `${name} ×${times}`;
}
