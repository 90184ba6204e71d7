/** The repeat policy of a tool as one word; what it means is its title.
 *  It must never be a colour alone. */
import { type Effect, effectWords } from '../../data/effect-words.ts';

export function EffectMark({ of }: { of: Effect }) {
  return (
    <span className={of === 'once' ? 'tools-once' : 'muted'} title={effectWords(of)}>
      {of}
    </span>
  );
}
