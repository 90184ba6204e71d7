/** Reads the text format of Prometheus, strictly: every line is a comment or a sample.
 *  It must never accept a line that Prometheus refuses. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/;

/** Throws on a line of another form, on a name with two types, and on a series that occurs twice. */
export function parsePrometheus(text: string): Sample[] {
  const types = new Map<string, string>();
  const series = new Set<string>();
  const samples: Sample[] = [];
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const comment = COMMENT.exec(line);
    if (comment !== null) {
      const [, kind, name = '', type = ''] = comment;
      if (kind === 'TYPE' && types.has(name)) throw new Error(`two types of ${name}`);
      if (kind === 'TYPE') types.set(name, type);
      continue;
    }
    const sample = parseSample(line);
    const id = `${sample.name}${JSON.stringify(sample.labels)}`;
    if (series.has(id)) throw new Error(`the series ${id} occurs twice`);
    series.add(id);
    samples.push(sample);
  }
  return samples;
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  return { name, labels: parseLabels(labels), value: value === '+Inf' ? Infinity : Number(value) };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let end = 0;
  for (let found = LABEL.exec(text); found !== null; found = LABEL.exec(text)) {
    labels[found[1] ?? ''] = (found[2] ?? '').replaceAll('\\"', '"').replaceAll('\\\\', '\\');
    end = LABEL.lastIndex;
  }
  if (end !== text.length) throw new Error(`no labels: ${text}`);
  return labels;
}

/** The sum over the samples of this name that have these labels; null: there is none. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}
