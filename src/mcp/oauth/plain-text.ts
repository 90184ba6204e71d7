/** A text of a stranger as one short line for a person.
 *  It must never keep a control character. */

export function plainText(text: string, maxCharacters: number): string {
  const line = text
    .slice(0, maxCharacters * 4)
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 1)}…`;
}
