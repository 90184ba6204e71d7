// Names that a tool has sent, as a message of the service shows them to the model.
// Must never let a sentence through: it would be the tool's, in the service's name.

const NAME = /^[\w.:/-]{1,64}$/;
const MOST_NAMES = 20;

/** null: the text is no name, and is not shown. */
export function shownName(text: string): string | null {
  return NAME.test(text) ? text : null;
}

/** A short list; the rest is counted. */
export function shownNames(names: readonly string[], between: string): string {
  const shown = names.slice(0, MOST_NAMES).join(between);
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
