/** The page before all others where keys are asked for: changes a key into a session.
 *  It must never keep the key, nor put it into a URL. */
import { type FormEvent, useState } from 'react';
import { useSigning } from '../data/session.ts';
import { ErrorBanner } from '../parts/banner.tsx';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import './sign-in.css';

export function SignIn() {
  const { signIn } = useSigning();
  const [key, setKey] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
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
    <main className="sign-in">
      <form className="stack" onSubmit={(event) => void send(event)}>
        <h1>Sign in to Adjutant</h1>
        <TextField
          label="API key"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          required
          value={key}
          onChange={({ target }) => setKey(target.value)}
          hint={
            <>
              <code>adjutant keys create</code> makes one. The page keeps a session of 12 hours, not the key.
            </>
          }
        />
        {error !== null && <ErrorBanner error={error} />}
        <div>
          <Button look="primary" type="submit" disabled={isBusy || key.trim() === ''}>
            Sign in
          </Button>
        </div>
      </form>
    </main>
  );
}
