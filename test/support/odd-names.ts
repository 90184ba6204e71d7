/** Names that meet what every object has, or the limits of what a name may be.
 *  It must never hold a name twice. */
const LONGEST_TOOL_NAME = 256;

/** What a plain object answers to without having been given it. */
export const INHERITED_NAMES: readonly string[] = [
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
  'prototype',
  'length',
  'name',
  'toJSON',
  'call',
];

/** Also those that no name may be. */
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
