/**
 * Merges metrics of several processes in Prometheus' text format. Each series gets the label `process`, and all series
 * of a metric are together.
 */
export function mergeMetrics(texts: readonly (readonly [process: number, text: string])[]): string {
  const families = new Map<string, { readonly head: string[]; readonly series: string[] }>();
  for (const [number, text] of texts) {
    let name = '';
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [, described] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? [];
      name = described ?? name;
      const family = families.get(name) ?? { head: [], series: [] };
      families.set(name, family);
      if (described === undefined) family.series.push(labelled(line, number));
      else if (!family.head.includes(line)) family.head.push(line);
    }
  }
  const ordered = [...families].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ordered.flatMap(([, { head, series }]) => [...head, ...series].map((line) => `${line}\n`)).join('');
}

/**
 * Adds the label `process` to a line. The name of the metric ends at the first brace or space. Further braces and
 * spaces may be in values of labels.
 */
function labelled(line: string, number: number): string {
  const [name = ''] = /^[^{ ]+/.exec(line) ?? [];
  const rest = line.slice(name.length);
  const label = `process="${number}"`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}
