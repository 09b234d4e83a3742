import type { Figures } from './figures.ts';

export interface Target {
  readonly text: string;
  readonly isMet: boolean;
}

/** The figures of our code, and those of the limit that was measured in the same run. */
export interface Comparison {
  readonly ours: Figures;
  readonly limit: Figures;
}

/** A row of the table. */
export interface Row {
  readonly name: string;
  readonly ours?: Figures;
  readonly limit?: Figures;
  /** The target of the figures, and whether they meet it. Absent when the figures have no target. */
  readonly target?: Target;
  /** Notes on the figures. They are printed below the table. */
  readonly note?: string;
}

export function ratioAtLeast(least: number, comparison: Comparison): Target {
  return { text: `ratio >= ${least.toString()}`, isMet: ratioOf(comparison) >= least };
}

export function opsAtLeast(least: number, { opsPerSecond }: Figures): Target {
  return { text: `ops/s >= ${least.toLocaleString('en-US')}`, isMet: opsPerSecond >= least };
}

export function p50AtMost(mostMs: number, { p50Ms }: Figures): Target {
  return { text: `p50 <= ${mostMs.toString()} ms`, isMet: p50Ms <= mostMs };
}

export function p99AtMost(mostMs: number, { p99Ms = Number.NaN }: Figures): Target {
  return { text: `p99 <= ${mostMs.toString()} ms`, isMet: p99Ms <= mostMs };
}

export function allOf(...targets: readonly Target[]): Target {
  return { text: targets.map(({ text }) => text).join(', '), isMet: targets.every(({ isMet }) => isMet) };
}

const header = ['case', 'ops/s', 'p50', 'p99', 'limit ops/s', 'p50', 'p99', 'ratio', 'target', 'met'];

/** Returns our operations per second divided by those of the limit. */
function ratioOf({ ours, limit }: Comparison): number {
  return ours.opsPerSecond / limit.opsPerSecond;
}

/** Returns the table as text. Numbers are aligned to the right, and times are in milliseconds. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [header, ...rows.map(cellsOf)];
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const isText = (column: number): boolean => column === 0 || column >= header.length - 2;
  const text = lines.map((cells) =>
    cells
      .map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const notes = rows.flatMap(({ name, note }) => (note === undefined ? [] : [`${name}: ${note}`]));
  return [...text, '', ...notes].join('\n').trimEnd();
}

function cellsOf({ name, ours, limit, target }: Row): string[] {
  const ratio = ours === undefined || limit === undefined ? '' : ratioOf({ ours, limit }).toFixed(2);
  const judgement = target === undefined ? ['', ''] : [target.text, target.isMet ? 'yes' : 'NO'];
  return [name, ...figureCells(ours), ...figureCells(limit), ratio, ...judgement];
}

function figureCells(figures: Figures | undefined): string[] {
  if (figures === undefined) return ['', '', ''];
  return [
    Math.round(figures.opsPerSecond).toLocaleString('en-US'),
    milliseconds(figures.p50Ms),
    milliseconds(figures.p99Ms),
  ];
}

function milliseconds(value: number | undefined): string {
  if (value === undefined) return '';
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 1 ? 2 : 3);
}
