/** The rules of prose that a program can check, for pages, messages, descriptions of fields and docstrings of exports. */

const BANNED =
  /\b(?:nobody|somebody|whoever|shall|stands|takes its turn|is said|is told|is there|of ours|beyond this machine|hands? over|in the place of|once in a while|pieces?|news|wish(?:es)?|offer(?:s|ed)?|entrance|room|looks?|hears?)\b/i;
const BANNED_BEGINNING = /^(?:Of|As in|What|Whose|Whoever|By)\b/;

/** The first word of a text that the rules exclude; null: it has none. Code between backticks is not prose. */
export function bannedWord(text: string): string | null {
  return BANNED.exec(prose(text))?.[0] ?? null;
}

/** The first word or beginning of a text that the rules exclude; null: it has none. */
export function proseFault(text: string): string | null {
  return BANNED_BEGINNING.exec(prose(text))?.[0] ?? bannedWord(text);
}

function prose(text: string): string {
  return text.replaceAll(/`[^`]*`/g, '`…`');
}
