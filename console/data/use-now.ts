/** The present, again every second, for what counts down.
 *  It must never be read by a long list: each tick draws. */
import { useEffect, useState } from 'react';

const EVERY_MS = 1_000;

export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
