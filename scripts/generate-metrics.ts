/** Writes the table of metrics in docs/metrics.md, or with --check reports whether it is out of date.
 *  It must not describe a metric: its definition does. */
import { generatePage } from './generated-page.ts';
import { METRICS_PAGE, metricsPage } from './metrics-page.ts';

await generatePage(METRICS_PAGE, metricsPage);
