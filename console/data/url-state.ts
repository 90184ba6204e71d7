/** State that is in the URL, so that every view has a link: filter, tab, selection, zoom.
 *  It must never add to the history for what is only selected. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

type Search = Readonly<Record<string, string | undefined>>;

/** A typed `?q=`, as other consoles have it, is the filter. */
export function parseSearch(text: string): Record<string, string> {
  const { q, ...search } = Object.fromEntries(new URLSearchParams(text));
  return q === undefined ? search : { filter: q, ...search };
}

export function searchText(search: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
  const text = new URLSearchParams(set as [string, string][]).toString();
  return text === '' ? '' : `?${text}`;
}

/** '' where the URL does not have it. Setting '' takes it out. */
export function useUrlState(name: string): readonly [string, (value: string) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useCallback(
    (value: string) => {
      const change = (old: Search): Search => ({ ...old, [name]: value === '' ? undefined : value });
      void navigate({ to: '.', search: change as never, replace: true });
    },
    [navigate, name],
  );
  return [search[name] ?? '', set];
}
