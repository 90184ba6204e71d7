/** The width of an element, followed.
 *  It must never be read while something is drawn: the browser reports it. */
import { type RefObject, useEffect, useState } from 'react';

/** px; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const { current } = element;
    if (current === null) return;
    const seen = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 0)));
    seen.observe(current);
    return () => seen.disconnect();
  }, [element]);
  return width;
}
