/** Names that every object inherits, or at the limits of what a name may be.
 *  It must never hold a name twice. */
const LONGEST_TOOL_NAME = 256;

/** Members that every plain object inherits. */
export const INHERITED_NAMES: readonly string[] = [
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
  'prototype',
  'length',
  'name',
  'toJSON',
  'call',
];

/** Also those that are never valid names. */
export const ODD_NAMES: readonly string[] = [
  ...INHERITED_NAMES,
  '',
  ' ',
  '.',
  '..',
  '*',
  'a.b.c',
  'ё漢字🙂',
  '\u202Eabc',
  'a\u0000b',
  'a\nb',
  '\u2028',
  '\uD800',
  '0',
  '-1',
  'x'.repeat(LONGEST_TOOL_NAME),
  'x'.repeat(300),
];
