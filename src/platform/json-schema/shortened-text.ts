/** A text of a server, cut to a length, with a mark where something is missing.
 *  It must never end within a character. */

export function shortened(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const cut = text.slice(0, maxCharacters - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
