// Text of a model or tool without terminal control characters. Independent of where the text was cut: the cleaned parts
// joined are the cleaned whole.

/** C0 without tab, line feed and carriage return; DEL; C1. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;

/** `text` without control characters other than tab, line feed and carriage return. */
export function plainText(text: string): string {
  return text.replace(CONTROLS, '');
}
