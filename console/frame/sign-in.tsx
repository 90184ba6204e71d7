/** The page before all others where keys are asked for: changes a key, a token or a login into a session.
 *  It must never keep the key, nor put it into a URL. */
import { type FormEvent, type ReactNode, useState } from 'react';
import type { SessionView } from '../../src/contract/access/session.ts';
import { endedSession, useSigning } from '../data/session.ts';
import { clockText } from '../data/shown.ts';
import { Banner, ErrorBanner } from '../parts/banner.tsx';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { Text } from '../parts/text.tsx';
import './sign-in.css';

type Ways = SessionView['sign_in'];

export function SignIn({ ways }: { ways: Ways }) {
  return (
    <main className="sign-in">
      <div className="stack">
        <h1>Sign in to Adjutant</h1>
        <Why ways={ways} />
        {ways?.oidc !== undefined && <AtIssuer {...ways.oidc} />}
        <KeyForm isSecond={ways?.oidc !== undefined} />
      </div>
    </main>
  );
}

/** Why this page is shown, where that is known. */
function Why({ ways }: { ways: Ways }): ReactNode {
  if (ways?.failed !== undefined)
    return (
      <Banner tone="bad">
        <Text>{ways.failed}</Text>
      </Banner>
    );
  const ended = endedSession();
  if (ended !== null) {
    const why = ended.isExpired ? '' : ', before its time: its key was revoked, or it was ended elsewhere';
    return (
      <Banner tone="wait">
        Your session ended at {clockText(ended.at)}
        {why}: sign in again.
      </Banner>
    );
  }
  if (ways?.keys !== false || ways.oidc !== undefined) return null;
  return (
    <Banner tone="wait">
      There are no API keys here: <code>adjutant keys create</code> makes one, as does an API that is started
      with <code>ADJUTANT_ADMIN_KEY</code>.
    </Banner>
  );
}

/** The server takes only a page of the console as the way back. */
function AtIssuer({ name, path }: { name: string; path: string }) {
  const here = encodeURIComponent(location.pathname + location.search);
  return (
    <a className="button button-primary" href={`${path}?return=${here}`}>
      <Text>{`Sign in with ${name}`}</Text>
    </a>
  );
}

function KeyForm({ isSecond }: { isSecond: boolean }) {
  const { signIn } = useSigning();
  const [key, setKey] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (key.trim() === '') return setError(new Error('The field is empty: paste an API key, as adj_…'));
    setBusy(true);
    try {
      await signIn(key.trim());
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" noValidate onSubmit={(event) => void send(event)}>
      <TextField
        label="API key or token"
        type="password"
        autoComplete="current-password"
        spellCheck={false}
        required
        value={key}
        onChange={({ target }) => setKey(target.value)}
        hint={
          <>
            <code>adjutant keys create</code> makes a key. The page keeps a session of at most 12 hours, not
            the key.
          </>
        }
      />
      {error !== null && <ErrorBanner error={error} />}
      <div>
        <Button look={isSecond ? 'plain' : 'primary'} type="submit" disabled={isBusy}>
          Sign in
        </Button>
      </div>
    </form>
  );
}
