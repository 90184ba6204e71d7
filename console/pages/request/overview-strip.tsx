/** The whole request in a strip of three bands: models, tools, waiting and trouble; the shown part is framed.
 *  It must never be the only way to a place: keys and drag on the rows do the same. */
import { type PointerEvent, useEffect, useRef } from 'react';
import type { Row, SegmentForm } from './timeline-rows.ts';
import type { TimeScale, View } from './time-scale.ts';

export interface StripProps {
  readonly rows: readonly Row[];
  readonly scale: TimeScale;
  readonly view: View;
  readonly now: number;
  readonly onView: (view: View) => void;
}

const BANDS: Readonly<Record<SegmentForm, readonly [band: number, color: string] | null>> = {
  think: [0, '--kind-think'],
  model: [0, '--kind-model'],
  tool: [1, '--kind-tool'],
  child: [1, '--kind-child'],
  wait: [2, '--kind-wait'],
  held: [2, '--kind-idle'],
  failed: [2, '--kind-bad'],
  lost: [2, '--kind-bad'],
  redelivery: [2, '--kind-bad'],
  queue: null,
  later: null,
  backoff: null,
};

const BAND_HEIGHT = 11;
const GAP = 2;

export function OverviewStrip({ rows, scale, view, now, onView }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const from = useRef<number | null>(null);
  useEffect(() => {
    const draw = (): void => drawStrip(canvas.current, { rows, scale, now });
    draw();
    addEventListener('resize', draw);
    return () => removeEventListener('resize', draw);
  });
  const placeOf = (event: PointerEvent): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const moved = (event: PointerEvent): void => {
    if (from.current === null) return;
    const place = placeOf(event);
    const [left, right] = [Math.min(from.current, place), Math.max(from.current, place)];
    if (right - left > 0.005) onView({ left, right });
  };
  return (
    <div
      className="timeline-strip"
      aria-hidden="true"
      onPointerDown={(event) => {
        from.current = placeOf(event);
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={moved}
      onPointerUp={() => {
        from.current = null;
      }}
      onDoubleClick={() => onView({ left: 0, right: 1 })}
    >
      <canvas ref={canvas} />
      {(view.left > 0 || view.right < 1) && (
        <span
          className="timeline-frame"
          style={{ left: `${view.left * 100}%`, width: `${(view.right - view.left) * 100}%` }}
        />
      )}
    </div>
  );
}

function drawStrip(
  canvas: HTMLCanvasElement | null,
  { rows, scale, now }: Pick<StripProps, 'rows' | 'scale' | 'now'>,
): void {
  const paper = canvas?.getContext('2d');
  if (!canvas || !paper) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  const density = devicePixelRatio || 1;
  canvas.width = width * density;
  canvas.height = height * density;
  paper.scale(density, density);
  const style = getComputedStyle(canvas);
  for (const { segments } of rows)
    for (const { form, from, until, isOpen } of segments) {
      const drawn = BANDS[form];
      if (drawn === null || from === null) continue;
      const [band, color] = drawn;
      const left = scale.at(from) * width;
      const right = scale.at(until ?? (isOpen ? now : from)) * width;
      paper.fillStyle = resolved(style, color);
      paper.fillRect(left, 2 + band * (BAND_HEIGHT + GAP), Math.max(1, right - left), BAND_HEIGHT);
    }
}

/** `light-dark()` is resolved by the browser in properties alone. */
function resolved(style: CSSStyleDeclaration, name: string): string {
  const value = style.getPropertyValue(name);
  const found = /light-dark\(([^,]+),([^)]+)\)/.exec(value);
  if (found === null) return value;
  return (style.colorScheme.includes('dark') && isDark(style) ? found[2] : found[1])?.trim() ?? value;
}

function isDark({ color }: CSSStyleDeclaration): boolean {
  // The colour of text tells which theme is drawn, also where the system decides.
  const [red = 0] = (/\d+/.exec(color) ?? []).map(Number);
  return red > 127;
}
