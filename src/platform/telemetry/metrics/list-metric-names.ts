// The metrics of the list of requests: how far it is behind, and whether it is complete.
// Must never say which requests it lacks.
import type { MetricDefinition } from './metric.ts';

export const LIST_METRICS = {
  searchLag: {
    kind: 'gauge',
    name: 'adjutant.search.lag',
    unit: 's',
    labels: [],
    says: 'How long the oldest change waits that the list of requests does not show yet; 0 = it shows all.',
  },
  searchIncomplete: {
    kind: 'gauge',
    name: 'adjutant.search.incomplete',
    unit: '',
    labels: [],
    says: '1 while the list of requests is being built and lacks older requests, as after an upgrade; else 0.',
  },
} satisfies Readonly<Record<string, Omit<MetricDefinition, 'by'>>>;
