/** Reads the metrics of an OTLP export, protobuf as opentelemetry/proto/metrics/v1/metrics.proto describes it.
 *  It must fail on what it does not understand. */
import { attributesOf, doubleOf, integer, type Message, messages, readMessage, text } from './otlp-spans.ts';

export interface ReceivedMetric {
  readonly service: string;
  readonly name: string;
  readonly unit: string;
  /** Of a histogram the counts. */
  readonly points: readonly { attributes: Readonly<Record<string, unknown>>; value: number }[];
}

const [GAUGE, SUM, HISTOGRAM] = [5, 7, 9] as const;

/** The metrics of an ExportMetricsServiceRequest. */
export function readMetrics(body: Buffer): ReceivedMetric[] {
  return messages(readMessage(body), 1).flatMap((resourceMetrics) => {
    const [resource] = messages(resourceMetrics, 1);
    const service = resource ? String(attributesOf(resource, 1)['service.name']) : '';
    return messages(resourceMetrics, 2).flatMap((scope) =>
      messages(scope, 2).map((metric) => metricOf(metric, service)),
    );
  });
}

function metricOf(metric: Message, service: string): ReceivedMetric {
  const [numbers] = [...messages(metric, GAUGE), ...messages(metric, SUM)];
  const [histogram] = messages(metric, HISTOGRAM);
  const named = { service, name: text(metric, 1), unit: text(metric, 3) };
  if (numbers !== undefined) return { ...named, points: messages(numbers, 1).map(numberPoint) };
  if (histogram === undefined) throw new Error(`the metric ${named.name} is of an unknown kind`);
  return { ...named, points: messages(histogram, 1).map(histogramPoint) };
}

function numberPoint(point: Message) {
  const value = point.has(4) ? doubleOf(integer(point, 4)) : Number(BigInt.asIntN(64, integer(point, 6)));
  return { attributes: attributesOf(point, 7), value };
}

function histogramPoint(point: Message) {
  return { attributes: attributesOf(point, 9), value: Number(integer(point, 4)) };
}
