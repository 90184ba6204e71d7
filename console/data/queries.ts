/** Query hooks of the pages: reading with a visible age, and changing.
 *  It must never repeat a change by itself. */
import { QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { call, isAway, isListOff } from './api.ts';
import { whenBack } from './reach.ts';
import { inTenant } from './tenant.ts';

export function createQueries(): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      // A service on this machine is there without any network.
      queries: {
        networkMode: 'always',
        staleTime: 1_000,
        gcTime: 5 * 60_000,
        retry: (count, error) => isAway(error) && count < 2,
        refetchOnWindowFocus: true,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });
  // Also what no interval reads comes back by itself.
  whenBack(() => {
    const predicate = ({ state }: { state: { status: string } }): boolean => state.status === 'error';
    void queries.refetchQueries({ queryKey: ['api'], type: 'active', predicate });
  });
  return queries;
}

/** The list is turned on by a restart. */
export const LIST_OFF_MS = 60_000;

export interface ReadOptions {
  /** How often it is read anew while the page is seen, milliseconds. 0: never. Default: 0. */
  readonly everyMs?: number;
  /** false: it is not read. Default: true. */
  readonly enabled?: boolean;
  /** Whether what was read under another path is shown until the answer comes. Default: true. */
  readonly keepOld?: boolean;
}

/** Reads a path of the API. The path is the key: all who read the same share one answer. */
export function useRead<T>(path: string, options: ReadOptions = {}) {
  const { everyMs = 0, enabled = true, keepOld = true } = options;
  const place = inTenant(path);
  return useQuery<T>({
    queryKey: ['api', place],
    queryFn: ({ signal }) => call<T>('GET', place, { signal }),
    refetchInterval: ({ state: { error } }) =>
      everyMs === 0 ? false : isListOff(error) ? LIST_OFF_MS : everyMs,
    enabled,
    ...(keepOld ? { placeholderData: (old: T | undefined) => old as never } : {}),
  });
}

/** Something that changes the service; afterwards everything that is shown is read anew. */
export function useChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const queries = useQueryClient();
  // A second press comes before the button is drawn as off.
  const isUnderWay = useRef(false);
  const { mutate, data, error, isPending, isSuccess } = useMutation<Output, Error, Input>({
    mutationFn: change,
    onSettled: () => {
      isUnderWay.current = false;
      void queries.invalidateQueries({ queryKey: ['api'] });
    },
  });
  /** Does nothing while another change of the same hook is under way. */
  const mutateOnce: typeof mutate = (...given) => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    mutate(...given);
  };
  return { mutate: mutateOnce, data, error, isPending, isSuccess };
}
