/** Pages, messages, the texts of the console and docstrings are written in the English of the field: none has a word that the rules of
 *  prose exclude. */
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';
import { PAGES, proseOf } from './support/documents.ts';
import { bannedWord, proseFault } from './support/prose.ts';

test.each(PAGES)('%s has no banned word', (page) => {
  const faults = proseOf(page).flatMap((line, index) => {
    const word = bannedWord(line.replaceAll(/\]\([^)]*\)/g, ']'));
    return word === null ? [] : [`${page}:${index + 1} ${word}`];
  });
  expect(faults).toEqual([]);
});

interface Text {
  readonly place: string;
  readonly text: string;
}

/** Sources of the service and of the console. */
function sources(): { file: string; source: string }[] {
  const exclude = ['console/node_modules/**', 'console/test/**'];
  return globSync(['src/**/*.ts', 'console/**/*.{ts,tsx}'], { exclude }).map((file) => ({
    file,
    source: readFileSync(file, 'utf8'),
  }));
}

/** Every text of several words in a source: a message, a help text, a log line, a text of a page. */
function messagesOf(file: string, source: string): Text[] {
  const found: Text[] = [];
  const note = (text: string, start: number): void => {
    if (text.includes(' ')) found.push({ place: placeOf(file, source, start), text });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string') note(node.value, node.start);
    },
    TemplateElement: (node) => note(node.value.raw, node.start),
    JSXText: (node) => note(node.value.trim(), node.start),
  }).visit(parseSync(file, source).program);
  return found;
}

function docstringsOf(file: string, source: string): Text[] {
  return parseSync(file, source)
    .comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    .map(({ value, start }) => ({
      place: placeOf(file, source, start),
      text: value.replaceAll(/^[\s*]+|\n\s*\*/g, ' ').trim(),
    }));
}

/** The lines of comment at the beginning of a file. */
function headsOf(file: string, source: string): Text[] {
  const lines = source.split('\n');
  const length = lines.findIndex((line) => !line.startsWith('//'));
  const text = lines
    .slice(0, length)
    .map((line) => line.slice(2).trim())
    .join(' ');
  return text === '' ? [] : [{ place: `${file}:1`, text }];
}

function placeOf(file: string, source: string, start: number): string {
  return `${file}:${source.slice(0, start).split('\n').length}`;
}

test('no message has a banned word', () => {
  const texts = sources().flatMap(({ file, source }) => messagesOf(file, source));
  expect(texts.length).toBeGreaterThan(1_000);
  const faults = texts.map(({ place, text }) => `${place} ${bannedWord(text) ?? ''}`);
  expect(faults.filter((fault) => !fault.endsWith(' '))).toEqual([]);
});

test('no docstring and no head of a file begins without its subject or has a banned word', () => {
  const texts = sources().flatMap(({ file, source }) => [
    ...headsOf(file, source),
    ...docstringsOf(file, source),
  ]);
  expect(texts.length).toBeGreaterThan(50);
  const faults = texts.map(({ place, text }) => `${place} ${proseFault(text) ?? ''}`);
  expect(faults.filter((fault) => !fault.endsWith(' '))).toEqual([]);
});

/** Runs of whole lines of comment in a Lua script, without its includes and guards. */
function luaCommentsOf(file: string): Text[] {
  const found: { place: string; lines: string[] }[] = [];
  let isOpen = false;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const comment = /^\s*--+ ?(?<text>.*)/.exec(line)?.groups?.['text'] ?? null;
    if (comment === null) isOpen = false;
    else if (!/^@(?:include|guard) /.test(comment)) {
      if (!isOpen) found.push({ place: `${file}:${index + 1}`, lines: [] });
      isOpen = true;
      // A file of another folder may have a word of today's rules in its name.
      found.at(-1)?.lines.push(comment.replaceAll(/\binclude-[\w-]+\.lua/g, ''));
    }
  }
  return found.map(({ place, lines }) => ({ place, text: lines.join(' ') }));
}

test('no comment in the Lua of requests begins without its subject or has a banned word', () => {
  const texts = globSync('src/store/request/*.lua').flatMap(luaCommentsOf);
  expect(texts.length).toBeGreaterThan(50);
  const faults = texts.map(({ place, text }) => `${place} ${proseFault(text) ?? ''}`);
  expect(faults.filter((fault) => !fault.endsWith(' '))).toEqual([]);
});
