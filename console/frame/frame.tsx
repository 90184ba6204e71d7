/** The frame around every page: navigation, top bar, banner when the service is away, keys.
 *  It must never hold anything of one page. */
import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useReach } from '../data/reach.ts';
import { useSession } from '../data/session.ts';
import { call } from '../data/api.ts';
import { loadChunk } from '../data/load-chunk.ts';
import { clockText, showInZone } from '../data/shown.ts';
import { useStored } from '../data/stored.ts';
import { showTenant } from '../data/tenant.ts';
import { useUrlState } from '../data/url-state.ts';
import { useKeyListener, useKeys } from '../keys/keymap.ts';
import { Banner } from '../parts/banner.tsx';
import { BottomBar, Navigation, usePlaceKeys } from './navigation.tsx';
import { TopBar } from './top-bar.tsx';
import './frame.css';

// What the first sight does not need comes after it.
const KeyList = lazy(async () => ({
  default: (await loadChunk(() => import('../keys/key-list.tsx'))).KeyList,
}));
const Palette = lazy(async () => ({ default: (await loadChunk(() => import('./palette.tsx'))).Palette }));
const SignIn = lazy(async () => ({ default: (await loadChunk(() => import('./sign-in.tsx'))).SignIn }));
const Toasts = lazy(async () => ({ default: (await loadChunk(() => import('../parts/toasts.tsx'))).Toasts }));

const TRY_MS = 2_000;

export function Frame() {
  const { data: session } = useSession();
  if (session?.state === 'signed_out')
    return (
      <Suspense>
        <SignIn ways={session.sign_in} />
      </Suspense>
    );
  return <Shell isReady={session !== undefined} tenant={session?.tenant ?? ''} />;
}

function Shell({ isReady, tenant }: { isReady: boolean; tenant: string }) {
  const [shown, show] = useState<'keys' | 'palette' | null>(null);
  const { answers, answeredAt } = useReach();
  const [zone] = useStored('zone');
  showInZone(zone);
  const [chosen] = useUrlState('tenant');
  const [ofRequest] = useUrlState('of');
  showTenant({ own: tenant, chosen, ofRequest });
  useTrying(!answers);
  useKeyListener();
  useKeys({ ...usePlaceKeys(), '?': () => show('keys') });
  usePaletteKey(() => show('palette'));
  return (
    <div className={answers ? 'frame' : 'frame is-away'}>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <Navigation isReady={isReady} />
      <TopBar onSearch={() => show('palette')} onKeys={() => show('keys')} />
      <main id="page" className="frame-page" tabIndex={-1}>
        {!answers && (
          <div className="frame-banner">
            <Banner tone="bad">
              The service does not answer, or cannot reach its Redis.
              {answeredAt !== null &&
                ` What is shown is of ${clockText(new Date(answeredAt).toISOString())}.`}{' '}
              The page goes on trying; `adjutant doctor` says what is wrong.
            </Banner>
          </div>
        )}
        {isReady && (
          <Suspense>
            {/* Instants are written anew in another zone, and all is read anew for another tenant. */}
            <Outlet key={`${zone} ${chosen}`} />
          </Suspense>
        )}
      </main>
      <BottomBar />
      <Suspense>
        <KeyList isOpen={shown === 'keys'} onClose={() => show(null)} />
        <Palette isOpen={shown === 'palette'} onClose={() => show(null)} />
        <Toasts />
      </Suspense>
    </div>
  );
}

/** Also on a page that reads nothing by itself. */
function useTrying(isAway: boolean): void {
  useEffect(() => {
    if (!isAway) return undefined;
    const timer = setInterval(() => void call('GET', '/v1/requests?limit=1').catch(() => {}), TRY_MS);
    return () => clearInterval(timer);
  }, [isAway]);
}

/** Works in text fields as well. */
function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      event.preventDefault();
      open();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  });
}
