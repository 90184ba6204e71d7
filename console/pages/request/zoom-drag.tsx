/** A drag over the bars of the timeline: what it covers is shown alone.
 *  It must never take a click, nor a touch: those select and scroll. */
import { type RefObject, useEffect, useRef, useState } from 'react';
import type { View } from './time-scale.ts';

interface ZoomProps {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly view: View;
  readonly onView: (view: View) => void;
}

const LEAST_DRAG = 6;

/** A drag over the bars shows that part alone. */
export function ZoomDrag({ box, view, onView }: ZoomProps) {
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const zoom = useRef(onView);
  useEffect(() => {
    zoom.current = onView;
  });
  const { left: viewLeft, right: viewRight } = view;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let from: number | null = null;
    const trackOf = () => element.querySelector('.timeline-track')?.getBoundingClientRect();
    const down = (event: PointerEvent): void => {
      const track = trackOf();
      const isTrack = event.target instanceof Element && event.target.closest('.timeline-track') !== null;
      if (track !== undefined && isTrack && event.button === 0 && event.pointerType !== 'touch')
        from = event.clientX;
    };
    const move = (event: PointerEvent): void => {
      if (from !== null && Math.abs(event.clientX - from) > LEAST_DRAG) setDrag([from, event.clientX]);
    };
    const up = (event: PointerEvent): void => {
      const track = trackOf();
      const start = from;
      from = null;
      setDrag(null);
      if (start === null || track === undefined || Math.abs(event.clientX - start) <= LEAST_DRAG) return;
      const places = [start, event.clientX].map(
        (x) => viewLeft + ((x - track.left) / track.width) * (viewRight - viewLeft),
      );
      zoom.current({ left: Math.max(0, Math.min(...places)), right: Math.min(1, Math.max(...places)) });
    };
    element.addEventListener('pointerdown', down);
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    return () => {
      element.removeEventListener('pointerdown', down);
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
    };
  }, [box, viewLeft, viewRight]);
  const frame = box.current?.getBoundingClientRect();
  if (drag === null || frame === undefined) return null;
  const [left, right] = [Math.min(...drag), Math.max(...drag)];
  return (
    <div
      className="timeline-drag"
      style={{ left: left, width: right - left, top: frame.top, height: frame.height }}
    />
  );
}
