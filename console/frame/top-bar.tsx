/** The bar above the page: where one is, whether it is live, search, theme.
 *  It must never hold an action of a page. */
import { Link, useLocation } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { loadChunk } from '../data/load-chunk.ts';
import { shortId } from '../data/shown.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Text } from '../parts/text.tsx';
import { LiveMark } from './live-state.tsx';
import { PLACES } from './places.ts';
import './top-bar.css';

const ThemeMenu = lazy(async () => ({
  default: (await loadChunk(() => import('./theme-menu.tsx'))).ThemeMenu,
}));

const TenantMenu = lazy(async () => ({
  default: (await loadChunk(() => import('./tenant-menu.tsx'))).TenantMenu,
}));

export function TopBar({ onSearch, onKeys }: { onSearch: () => void; onKeys: () => void }) {
  return (
    <header className="top-bar">
      <Trail />
      <div className="spread row top-bar-right">
        <LiveMark />
        <Button look="ghost" className="top-bar-search" aria-label="Search Ctrl K" onClick={onSearch}>
          <Icon name="search" /> <span className="top-bar-word">Search</span> <kbd>Ctrl K</kbd>
        </Button>
        <Suspense>
          <TenantMenu />
        </Suspense>
        <Suspense fallback={<MenuPlace />}>
          <ThemeMenu onKeys={onKeys} />
        </Suspense>
      </div>
    </header>
  );
}

/** Names of the pages that the navigation lacks. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ['compare', 'Compare'],
  ['differences', 'Compare values'],
]);

/** The place, and what of it is shown. */
function Trail() {
  const { pathname } = useLocation();
  const [first = '', ...rest] = pathname.split('/').filter(Boolean);
  const place = PLACES.find(({ to }) => to === `/${first}`);
  return (
    <div className="trail">
      {rest.length > 0 && place !== undefined && (
        <>
          <Link to={place.to}>{place.text}</Link> <span aria-hidden="true">/</span>{' '}
        </>
      )}
      <span className="trail-here">
        {rest.length === 0
          ? (place?.text ?? OTHERS.get(first) ?? '')
          : rest.map((part) => <Part key={part}>{part}</Part>)}
      </span>
    </div>
  );
}

function Part({ children }: { children: string }) {
  return <Text>{shortId(decoded(children), 40)}</Text>;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** As large as the menu that comes. */
function MenuPlace() {
  return (
    <Button look="ghost" aria-label="Theme, keys and session" disabled>
      <Icon name="theme" />
    </Button>
  );
}
