/** The pages of the documentation as HTML: `dist/docs`, which the service has at /docs/.
 *  Replaces an earlier build in one step. Throws for a link to a page or heading that does not exist. */
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative, resolve } from 'node:path';
import { Marked, type Tokens } from 'marked';

const TARGET = resolve(import.meta.dirname, '../dist/docs');

/** Every page, from the root of the clone. */
export const PAGES: readonly string[] = [
  ...globSync('*.md'),
  ...globSync('{docs,deploy,examples}/**/*.md', { exclude: ['examples/documents/**'] }),
].toSorted();

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(title: string): string {
  const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-');
}

/** Renders every page into `target`. */
export function buildDocs(target: string = TARGET): void {
  const folder = `${target}.${process.pid}.tmp`;
  try {
    const style = readFileSync(join(import.meta.dirname, 'docs.css'));
    const stylesheet = `assets/docs-${createHash('sha256').update(style).digest('hex').slice(0, 12)}.css`;
    write(join(folder, stylesheet), style);
    const pages = PAGES.map((page) => ({ page, ...rendered(page) }));
    const list = pages.find(({ page }) => page === 'README.md')?.lists.at(-1) ?? '';
    const navigation = (address: string): string =>
      list.replaceAll(/href="(?!https?:)([^"]+)"/g, (_, to: string) => `href="${linkTo(to, address)}"`);
    for (const { page, title, body } of pages)
      write(
        join(folder, `${addressOf(page) || 'index'}.html`),
        wholePage({
          title,
          body,
          stylesheet,
          address: addressOf(page),
          navigation: navigation(addressOf(page)),
        }),
      );
    for (const picture of new Set(pages.flatMap(({ pictures }) => pictures)))
      cpSync(picture, join(folder, pictureAddress(picture)));
    cpSync('docs/llms.txt', join(folder, 'llms.txt'));
    requireTargets(pages);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(dirname(target), { recursive: true });
    renameSync(folder, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function write(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** `docs/internals/queue.md` has the address `internals/queue`, `README.md` the empty one. */
function addressOf(page: string): string {
  const path = page
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$/, '')
    .replace(/\.md$/, '');
  return path === path.toUpperCase() ? path.toLowerCase() : path;
}

/** A link from one address to another, relative, so that the pages work below any address. */
function linkTo(address: string, from: string): string {
  const path = relative(dirname(join('/', from)), join('/', address));
  // A page may have the name of the folder of the other one.
  return path || (address === '' ? './' : `../${basename(address)}`);
}

function pictureAddress(file: string): string {
  return join('assets', file.replace(/^docs\//, '').replaceAll('/', '-'));
}

interface Rendered {
  readonly title: string;
  readonly body: string;
  readonly anchors: ReadonlySet<string>;
  /** Links to other pages and headings: file and anchor. */
  readonly links: readonly { readonly target: string; readonly anchor: string | undefined }[];
  readonly pictures: readonly string[];
  /** HTML of the page's lists. */
  readonly lists: readonly string[];
}

function rendered(page: string): Rendered {
  let title = page;
  const anchors = new Set<string>();
  const links: { target: string; anchor: string | undefined }[] = [];
  const pictures: string[] = [];
  const marked = new Marked({
    renderer: {
      // Comments say how the tests read a page.
      html: () => '',
      heading({ depth, text, tokens }: Tokens.Heading): string {
        if (depth === 1) title = text;
        const anchor = anchorOf(text);
        anchors.add(anchor);
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const text = this.parser.parseInline(tokens);
        if (/^https?:/.test(href)) return `<a href="${escaped(href)}" rel="noreferrer">${text}</a>`;
        const [path = '', anchor] = href.split('#');
        const target = path === '' ? page : normalize(join(dirname(page), path));
        // Sources, schemas and examples are in the repository alone.
        if (!PAGES.includes(target)) return `<span class="file">${text}</span>`;
        links.push({ target, anchor });
        const place = anchor === undefined ? '' : `#${anchor}`;
        return `<a href="${path === '' ? place : linkTo(addressOf(target), addressOf(page)) + place}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image): string {
        const file = normalize(join(dirname(page), href));
        // The console itself is a link away; pictures of pixels would double the size of the pages.
        if (!file.endsWith('.svg')) return `<a href="/console/">${escaped(text)}</a>`;
        pictures.push(file);
        return `<img src="${linkTo(pictureAddress(file), addressOf(page))}" alt="${escaped(text)}">`;
      },
    },
  });
  const source = readFileSync(page, 'utf8');
  const body = marked.parse(source, { async: false });
  const lists = marked.lexer(source).filter(({ type }) => type === 'list');
  return { title, body, anchors, links, pictures, lists: lists.map((list) => marked.parser([list])) };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function requireTargets(pages: readonly (Rendered & { readonly page: string })[]): void {
  const anchorsOf = new Map(pages.map(({ page, anchors }) => [page, anchors]));
  for (const { page, links } of pages)
    for (const { target, anchor } of links)
      if (anchor !== undefined && anchorsOf.get(target)?.has(anchor) !== true)
        throw new Error(`${page} links to ${target}#${anchor}, which is no heading of that page.`);
}

function wholePage(parts: {
  title: string;
  body: string;
  navigation: string;
  stylesheet: string;
  address: string;
}): string {
  const { title, body, navigation, stylesheet, address } = parts;
  const to = (other: string): string => linkTo(other, address);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title === 'Adjutant' ? title : `${title} – Adjutant`)}</title>
<link rel="icon" href="/console/icon.svg">
<link rel="stylesheet" href="${to(stylesheet)}">
</head>
<body>
<header><a href="${to('')}">Adjutant</a><a href="${to('api')}">API reference</a><a href="/console/">Console</a></header>
<nav aria-label="Pages">
${navigation}</nav>
<main>
${body}</main>
</body>
</html>
`;
}

if (import.meta.main) buildDocs();
