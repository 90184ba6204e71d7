/** The places of the console: beside the page, or below it in a narrow window.
 *  It must never hide that something waits for a person. */
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { loadChunk } from '../data/load-chunk.ts';
import { Icon } from '../parts/icon.tsx';
import { type PlaceCount, useCounts } from './counts.ts';
import { PLACES } from './places.ts';
import './navigation.css';

const MorePlaces = lazy(async () => ({
  default: (await loadChunk(() => import('./more-places.tsx'))).MorePlaces,
}));

export function usePlaceKeys(): Record<string, () => void> {
  const navigate = useNavigate();
  return Object.fromEntries(PLACES.map(({ key, to }) => [`g ${key}`, () => void navigate({ to })]));
}

export function Navigation({ isReady }: { isReady: boolean }) {
  const counts = useCounts(isReady);
  return (
    <nav className="navigation" aria-label="Console">
      <div className="brand">
        <img src="/console/icon.svg" alt="" width="18" height="18" /> Adjutant
      </div>
      <ul>
        {PLACES.map(({ to, text, isFirst }, place) => (
          <li key={to} className={!isFirst && PLACES[place - 1]?.isFirst === true ? 'navigation-group' : ''}>
            <Link to={to} activeOptions={{ exact: to === '/' }} className="navigation-link">
              {text}
              <Count of={counts[to]} />
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Count({ of }: { of: PlaceCount | undefined }) {
  if (of === undefined) return null;
  return <span className={of.needsPerson ? 'navigation-count wanted' : 'navigation-count'}>{of.text}</span>;
}

export function BottomBar() {
  return (
    <nav className="bottom-bar" aria-label="Console, below">
      {PLACES.filter(({ isFirst }) => isFirst).map(({ to, text, icon }) => (
        <Link key={to} to={to} activeOptions={{ exact: to === '/' }} className="bottom-link">
          <Icon name={icon} />
          {text}
        </Link>
      ))}
      <Suspense fallback={<span />}>
        <MorePlaces />
      </Suspense>
    </nav>
  );
}
